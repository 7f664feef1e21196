// A request as code that sends it: AWS CLI, Python (boto3), JavaScript (SDK v3), Rust (aws-sdk-dynamodb).

import { literal, python, shell } from "../quote.js";

/** @typedef {{operation: string, body: any, endpoint: string, region: string}} Asked */

const snake = (name) => name.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase();
const kebab = (name) => snake(name).replaceAll("_", "-");
const BINARY = new Set(["B", "BS"]);

/** Whether this object is one typed value; `inMap` tells a value from a map of names. */
const isTyped = (value) => {
  const names = value && typeof value === "object" && !Array.isArray(value) ? Object.keys(value) : [];
  return names.length === 1 && ["S", "N", "B", "SS", "NS", "BS", "L", "M", "BOOL", "NULL"].includes(names[0]);
};
/** Members that hold typed values by name. */
const MAPS = new Set(["Key", "Item", "ExclusiveStartKey", "ExpressionAttributeValues"]);

export function asCli({ operation, body, endpoint, region }) {
  return `aws dynamodb ${kebab(operation)} --endpoint-url ${shell(endpoint)} --region ${shell(region)} \\\n  --cli-input-json ${shell(JSON.stringify(body))}\n`;
}

/** Writes nested members; `leaf` writes texts, numbers and switches, `binary` a value in base64. */
function nested(value, { leaf, binary, member }, indent, inValue = false) {
  const pad = "    ".repeat(indent + 1);
  const end = "    ".repeat(indent);
  if (Array.isArray(value)) {
    return value.length === 0 ? "[]" : `[\n${value.map((one) => `${pad}${nested(one, { leaf, binary, member }, indent + 1, inValue)},\n`).join("")}${end}]`;
  }
  if (value && typeof value === "object") {
    const entries = Object.entries(value);
    if (entries.length === 0) return "{}";
    if (inValue && isTyped(value) && BINARY.has(entries[0][0]) && (typeof entries[0][1] === "string" || Array.isArray(entries[0][1]))) {
      const [type, inner] = entries[0];
      return `{${member(type)}: ${Array.isArray(inner) ? `[${inner.map(binary).join(", ")}]` : binary(inner)}}`;
    }
    if (entries.length === 1 && (entries[0][1] === null || typeof entries[0][1] !== "object")) return `{${member(entries[0][0])}: ${leaf(entries[0][1])}}`;
    return `{\n${entries.map(([name, inner]) => `${pad}${member(name)}: ${nested(inner, { leaf, binary, member }, indent + 1, inValue || MAPS.has(name) || name === "Parameters")},\n`).join("")}${end}}`;
  }
  return leaf(value);
}

export function asPython({ operation, body, endpoint, region }) {
  const leaf = (value) => (typeof value === "string" ? python(value) : value === true ? "True" : value === false ? "False" : value === null ? "None" : String(value));
  let binaries = false;
  const binary = (text) => { binaries = true; return `base64.b64decode(${python(text)})`; };
  const request = nested(body, { leaf, binary, member: python }, 0);
  return `${binaries ? "import base64\n" : ""}import boto3\n\nclient = boto3.client("dynamodb", endpoint_url=${python(endpoint)}, region_name=${python(region)})\nanswer = client.${snake(operation)}(**${request})\nprint(answer)\n`;
}

export function asJavaScript({ operation, body, endpoint, region }) {
  const leaf = (value) => (typeof value === "string" ? literal(value) : String(value));
  const request = nested(body, { leaf, binary: (text) => `Buffer.from(${literal(text)}, "base64")`, member: (name) => (name === "__proto__" ? '["__proto__"]' : literal(name)) }, 0);
  return `import { DynamoDBClient, ${operation}Command } from "@aws-sdk/client-dynamodb";\n\nconst client = new DynamoDBClient({ endpoint: ${literal(endpoint)}, region: ${literal(region)} });\nconst answer = await client.send(new ${operation}Command(${request}));\nconsole.dir(answer, { depth: null });\n`;
}

const rustText = (text) => `"${[...text].map((letter) => {
  const code = letter.codePointAt(0) ?? 0;
  if (letter === '"' || letter === "\\") return `\\${letter}`;
  return code >= 32 && code < 127 ? letter : `\\u{${code.toString(16)}}`;
}).join("")}"`;

/** Bytes of base64 as a Rust slice. */
const rustBytes = (text) => `Blob::new([${Array.from(atob(text), (letter) => `${letter.charCodeAt(0)}u8`).join(", ")}])`;

function rustValue(value) {
  const [type, inner] = Object.entries(value)[0];
  const list = (items) => (items.length === 0 ? "Vec::new()" : `vec![${items.join(", ")}]`);
  const text = (one) => `${rustText(one)}.to_owned()`;
  switch (type) {
    case "S": return `AttributeValue::S(${text(inner)})`;
    case "N": return `AttributeValue::N(${text(inner)})`;
    case "B": return `AttributeValue::B(${rustBytes(inner)})`;
    case "SS": return `AttributeValue::Ss(${list(inner.map(text))})`;
    case "NS": return `AttributeValue::Ns(${list(inner.map(text))})`;
    case "BS": return `AttributeValue::Bs(${list(inner.map(rustBytes))})`;
    case "BOOL": return `AttributeValue::Bool(${inner})`;
    case "NULL": return `AttributeValue::Null(${inner})`;
    case "L": return `AttributeValue::L(${list(inner.map(rustValue))})`;
    default: return `AttributeValue::M(HashMap::from([${Object.entries(inner).map(([name, one]) => `(${text(name)}, ${rustValue(one)})`).join(", ")}]))`;
  }
}

/** Members whose values are variants of an enum of the SDK. */
const ENUMS = { ReturnConsumedCapacity: "ReturnConsumedCapacity", Select: "Select", ReturnValues: "ReturnValue", ReturnValuesOnConditionCheckFailure: "ReturnValuesOnConditionCheckFailure" };
const pascal = (text) => text.toLowerCase().replace(/(^|_)([a-z])/g, (_, __, letter) => letter.toUpperCase());

/** Null where the request has members that this form does not write. */
export function asRust({ operation, body, endpoint, region }) {
  const types = new Set();
  const calls = [];
  for (const [name, value] of Object.entries(body)) {
    const method = snake(name);
    if (MAPS.has(name)) for (const [own, one] of Object.entries(value)) { types.add("AttributeValue"); calls.push(`.${method}(${rustText(own)}, ${rustValue(one)})`); }
    else if (name === "ExpressionAttributeNames") for (const [own, one] of Object.entries(value)) calls.push(`.${method}(${rustText(own)}, ${rustText(one)})`);
    else if (ENUMS[name]) { types.add(ENUMS[name]); calls.push(`.${method}(${ENUMS[name]}::${pascal(value)})`); }
    else if (typeof value === "string") calls.push(`.${method}(${rustText(value)})`);
    else if (typeof value === "number" || typeof value === "boolean") calls.push(`.${method}(${value})`);
    else if (name === "Parameters") for (const one of value) { types.add("AttributeValue"); calls.push(`.${method}(${rustValue(one)})`); }
    else return null;
  }
  const text = calls.join("\n        ");
  const uses = [text.includes("HashMap::") ? "use std::collections::HashMap;\n\n" : "", text.includes("Blob::") ? "use aws_sdk_dynamodb::primitives::Blob;\n" : "",
    types.size > 0 ? `use aws_sdk_dynamodb::types::{${[...types].sort().join(", ")}};\n` : ""].join("");
  return `${uses}use aws_config::{BehaviorVersion, Region};\n\n#[tokio::main]\nasync fn main() -> Result<(), aws_sdk_dynamodb::Error> {\n    let config = aws_config::defaults(BehaviorVersion::latest())\n        .endpoint_url(${rustText(endpoint)})\n        .region(Region::new(${rustText(region)}))\n        .load()\n        .await;\n    let client = aws_sdk_dynamodb::Client::new(&config);\n    let answer = client\n        .${snake(operation)}()\n        ${text}${text ? "\n        " : ""}.send()\n        .await?;\n    println!("{answer:?}");\n    Ok(())\n}\n`;
}

/** Name, words and writer of each form. @type {[string, string, (asked: Asked) => string|null][]} */
export const FORMS = [
  ["cli", "AWS CLI", asCli],
  ["python", "Python (boto3)", asPython],
  ["javascript", "JavaScript (SDK v3)", asJavaScript],
  ["rust", "Rust (aws-sdk-dynamodb)", asRust],
  ["body", "Request body", ({ body }) => `${JSON.stringify(body, null, 2)}\n`],
];
