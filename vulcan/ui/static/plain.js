import "./keys.js";
