// What comes first: examples, the tour, signing in, help.

import "./start/kw-start.js";
import "./start/kw-tour.js";
import "./tables/kw-sign-in.js";

export { helpSheet } from "./start/help.js";
export { deniedView, withDenial } from "./denied.js";
