// The views of models.

import "./model/kw-model.js";
import "./model/kw-models.js";
