// The views of what the database does. Those with charts load uPlot.

import "./operate/kw-history.js";
import "./operate/kw-metrics.js";
import "./operate/kw-operate.js";
import "./operate/kw-overview.js";
import "./operate/kw-stream.js";
