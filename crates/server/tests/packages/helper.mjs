// The helper of the npm package as a test suite uses it. Prints the endpoint of a server that it leaves running.
import assert from 'node:assert/strict'
import { CreateTableCommand, DynamoDBClient, ListTablesCommand } from '@aws-sdk/client-dynamodb'
import { branch, start, worker } from 'keywright'

const tables = async (config) => (await new DynamoDBClient(config).send(new ListTablesCommand({}))).TableNames

process.env.KEYWRIGHT_PORT = '1' // settings of the shell do not reach the server
const server = await start()
const client = new DynamoDBClient(server.clientConfig())
await client.send(
  new CreateTableCommand({
    TableName: 'Orders',
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'N' }],
    BillingMode: 'PAY_PER_REQUEST',
  }),
)
assert.equal(worker(), 1)
assert.deepEqual(await tables(server.clientConfig()), ['Orders'])
assert.deepEqual(await tables(server.clientConfig({ worker: 2 })), [])
assert.deepEqual(await tables(server.clientConfig({ region: 'eu-west-1' })), [])
const copy = await branch(server.clientConfig())
assert.deepEqual(await tables(copy.config), ['Orders'])
await copy.drop()
assert.deepEqual(await tables(copy.config), [])
await assert.rejects(branch(server.clientConfig({ worker: 9 })), /100000000009/)
await Promise.all([server.stop(), server.stop()])
await assert.rejects(fetch(server.endpoint))
await assert.rejects(start({ args: ['--durability', 'sometimes'] }), /--durability/)
console.log((await start()).endpoint)
