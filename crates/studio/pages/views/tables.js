// The views of tables and their items.

import "./collections/kw-live.js";
import "./tables/kw-bulk.js";
import "./tables/kw-items.js";
import "./tables/kw-request.js";
import "./tables/kw-schema.js";
import "./tables/kw-tables.js";
import "./tables/kw-transfer.js";
