// Which calls lose something for good. `api.js` sends these only with the consent that a confirmed question gave.

const consents = new WeakSet();

/** A consent: `confirm.js` alone may ask for one, when its question is confirmed. */
export function newConsent() {
  const consent = {};
  consents.add(consent);
  return consent;
}

/** @param {any} value */
export const isConsent = (value) => consents.has(value);

const items = (number) => `${number.toLocaleString("en")} ${number === 1 ? "item" : "items"}`;
const isDelete = (one) => /^\s*delete\b/i.test(one?.Statement ?? "");
const replaces = (put) => !/attribute_not_exists/i.test(put?.ConditionExpression ?? "");
const listed = (value) => (Array.isArray(value) ? value : []);

/** Lines for deletions and for puts that replace what is there. */
function ofWrites(deletes, puts) {
  return [
    ...(deletes > 0 ? [`${items(deletes)} deleted`] : []),
    ...(puts > 0 ? [puts === 1 ? "the item that has the same key now, if there is one" : `items that have the same keys now, at most ${items(puts)}`] : []),
  ];
}

/**
 * What a call loses, in words; empty if nothing. Updates of single attributes are not counted.
 * @param {string} name of the call: `dynamodb/` and an operation, or a call of the studio
 * @param {any} body
 * @returns {string[]}
 */
export function lossesOf(name, body) {
  if (name.startsWith("event-sources/")) return body.Enabled === false ? ["what the trigger would deliver meanwhile"] : [];
  switch (name) {
    case "models/delete": return [`the model file ${body.name}`];
    case "dynamodb/DeleteTable": return [`the table ${body.TableName ?? ""} with its items and indexes`];
    case "dynamodb/DeleteItem": return ofWrites(1, 0);
    case "dynamodb/PutItem": return ofWrites(0, replaces(body) ? 1 : 0);
    case "dynamodb/StartBulkPutItems": return ["items that have the same keys as records now"];
    case "dynamodb/CancelBulkOperation": return ["the rest of the records: those that are done stay"];
    case "dynamodb/DeleteResourcePolicy": return ["the policy that says who may use the table or stream"];
    case "dynamodb/PutResourcePolicy": return ["the policy that the table or stream has now, if there is one"];
    case "dynamodb/BatchWriteItem": {
      const all = Object.values(body.RequestItems ?? {}).flatMap(listed);
      return ofWrites(all.filter((one) => one?.DeleteRequest).length, all.filter((one) => one?.PutRequest).length);
    }
    case "dynamodb/TransactWriteItems": {
      const all = listed(body.TransactItems);
      return ofWrites(all.filter((one) => one?.Delete).length, all.filter((one) => one?.Put && replaces(one.Put)).length);
    }
    case "dynamodb/ExecuteStatement": return ofWrites(isDelete(body) ? 1 : 0, 0);
    case "dynamodb/BatchExecuteStatement": return ofWrites(listed(body.Statements).filter(isDelete).length, 0);
    case "dynamodb/ExecuteTransaction": return ofWrites(listed(body.TransactStatements).filter(isDelete).length, 0);
    case "dynamodb/UpdateTable": return [
      ...listed(body.GlobalSecondaryIndexUpdates).filter((one) => one?.Delete).map((one) => `the index ${one.Delete.IndexName}`),
      ...listed(body.ReplicaUpdates).filter((one) => one?.Delete).map((one) => `the replica in ${one.Delete.RegionName} with its items`),
      ...(listed(body.ReplicaUpdates).some((one) => one?.Disassociate) ? ["replication with the other regions: the table goes on alone"] : []),
      ...(body.StreamSpecification?.StreamEnabled === false ? ["the stream of changes"] : []),
      ...(body.DeletionProtectionEnabled === false ? ["the protection of the table against its deletion"] : []),
      ...(body.DisassociationProtectionEnabled === false ? ["the protection of the replica against leaving its group"] : []),
    ];
    case "dynamodb/UpdateTableReplicaAutoScaling": return JSON.stringify(body).includes('"AutoScalingDisabled":true') ? ["the policies and bounds that scale the capacity"] : [];
    case "dynamodb/UpdateTimeToLive": return [body.TimeToLiveSpecification?.Enabled === true ? "items whose time is past" : "time to live: expired items stay"];
    case "dynamodb/UpdateContinuousBackups": return body.PointInTimeRecoverySpecification?.PointInTimeRecoveryEnabled === false ? ["the history of the table"] : [];
    case "dynamodb/DisableKinesisStreamingDestination": return ["changes from now on: the Kinesis stream gets none"];
    case "keywright/rollback": return body.preview ? [] : ["what the items became since"];
    case "dynamodb/DeleteBackup": return ["the backup"];
    case "dynamodb/UntagResource": return [`${listed(body.TagKeys).length} of its tags`];
    case "dynamodb/UpdateContributorInsights": return body.ContributorInsightsAction === "DISABLE" ? ["the keys counted so far"] : [];
    default: return [];
  }
}
