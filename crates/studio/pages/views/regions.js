// The replicas of a table in other regions, and the faults between regions that the server simulates.

import "./regions/kw-regions.js";
import "./regions/kw-simulation.js";

export { follow } from "./regions/line.js";
