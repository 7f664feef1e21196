// The data mapper for JavaScript, on version 2 of the SDK. Usage: node run_data_mapper.mjs ENDPOINT
import assert from 'node:assert/strict'
import AWS from 'aws-sdk'
import mapperPackage from '@aws/dynamodb-data-mapper'
import expressions from '@aws/dynamodb-expressions'

const { DataMapper, DynamoDbSchema, DynamoDbTable } = mapperPackage
const { AttributePath, AttributeValue, FunctionExpression, MathematicalExpression, UpdateExpression, between, equals, greaterThan } = expressions
const client = new AWS.DynamoDB({
  endpoint: process.argv[2], region: 'us-east-1', accessKeyId: 'local', secretAccessKey: 'local',
})
const mapper = new DataMapper({ client })

class Post {}
Object.defineProperties(Post.prototype, {
  [DynamoDbTable]: { value: 'MapperPosts' },
  [DynamoDbSchema]: {
    value: {
      author: { type: 'String', keyType: 'HASH' },
      number: { type: 'Number', keyType: 'RANGE' },
      status: { type: 'String', indexKeyConfigurations: { byStatus: 'HASH' }, defaultProvider: () => 'draft' },
      written: { type: 'Date', indexKeyConfigurations: { byStatus: 'RANGE' } },
      tags: { type: 'Set', memberType: 'String' },
      body: { type: 'Document', members: { title: { type: 'String' }, words: { type: 'Number' } } },
      parts: { type: 'List', memberType: { type: 'Number' } },
      version: { type: 'Number', versionAttribute: true },
    },
  },
})
const post = (author, number, more = {}) =>
  Object.assign(new Post(), { author, number, written: new Date(Date.UTC(2026, 0, number)), ...more })
const all = async (iterator) => {
  const found = []
  for await (const item of iterator) found.push(item)
  return found
}

await mapper.ensureTableExists(Post, {
  readCapacityUnits: 50, writeCapacityUnits: 50,
  indexOptions: { byStatus: { type: 'global', projection: 'all', readCapacityUnits: 50, writeCapacityUnits: 50 } },
})
await mapper.ensureTableExists(Post, { readCapacityUnits: 50, writeCapacityUnits: 50 })

// Items, versions, conditions.
const first = await mapper.put(post('ada', 1, { tags: new Set(['a', 'b']), body: { title: 'One', words: 100 }, parts: [1, 2] }))
assert.deepEqual([first.version, first.status], [0, 'draft'])
const read = await mapper.get(post('ada', 1), { readConsistency: 'strong' })
assert.ok(read instanceof Post && read.written instanceof Date)
assert.deepEqual([read.body.words, [...read.tags].sort(), read.parts], [100, ['a', 'b'], [1, 2]])
read.status = 'public'
const updated = await mapper.update(read)
assert.equal(updated.version, 1)
await assert.rejects(mapper.put(first), { code: 'ConditionalCheckFailedException' })
await assert.rejects(mapper.get(post('ada', 99)), { name: 'ItemNotFoundException' })
const replaced = await mapper.delete(updated, { returnValues: 'ALL_OLD' })
assert.equal(replaced.status, 'public')

// Batches, queries in pages, an index, scans side by side.
const many = Array.from({ length: 120 }, (_, number) =>
  post('bob', number + 1, { status: number % 3 ? 'public' : 'draft', body: { title: 'x'.repeat(15000), words: number }, parts: [number] }))
assert.equal((await all(mapper.batchPut(many))).length, 120)
assert.equal((await all(mapper.batchGet(many.slice(0, 110).concat(post('bob', 999))))).length, 110)
const between10And20 = { author: 'bob', number: between(10, 20) }
const newest = await all(mapper.query(Post, between10And20, { scanIndexForward: false, limit: 4, pageSize: 3 }))
assert.deepEqual(newest.map((own) => own.number), [20, 19, 18, 17])
assert.equal((await all(mapper.query(Post, { author: 'bob' }))).length, 120)
const drafts = await all(mapper.query(Post, { status: 'draft' }, {
  indexName: 'byStatus', filter: { ...greaterThan(60), subject: 'body.words' },
}))
assert.deepEqual(drafts.map((own) => own.body.words), [63, 66, 69, 72, 75, 78, 81, 84, 87, 90, 93, 96, 99, 102, 105, 108, 111, 114, 117])
assert.equal((await all(mapper.parallelScan(Post, 4))).length, 120)
assert.equal((await all(mapper.scan(Post, { filter: { ...equals('draft'), subject: 'status' } }))).length, 40)

// An expression of one's own.
const change = new UpdateExpression()
const more = new AttributeValue({ L: [{ N: '7' }] })
change.set('parts', new FunctionExpression('list_append', new AttributePath('parts'), more))
change.set('body.words', new MathematicalExpression(new AttributePath('body.words'), '+', 5))
const changed = await mapper.executeUpdateExpression(change, { author: 'bob', number: 2 }, Post)
assert.deepEqual([changed.parts, changed.body.words], [[1, 7], 6])
assert.equal((await all(mapper.batchDelete(many))).length, 120)
await mapper.ensureTableNotExists(Post)
await assert.rejects(client.describeTable({ TableName: 'MapperPosts' }).promise(), { code: 'ResourceNotFoundException' })
