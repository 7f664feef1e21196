// OneTable's own features against a server. Usage: node run_onetable.mjs ENDPOINT
import assert from 'node:assert/strict'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { Dynamo } from 'dynamodb-onetable/Dynamo'
import { Table } from 'dynamodb-onetable'

const client = new Dynamo({
  client: new DynamoDBClient({
    endpoint: process.argv[2],
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  }),
})
const table = new Table({
  name: 'OneTableShop',
  client,
  logger: false,
  partial: true,
  schema: {
    format: 'onetable:1.1.0',
    version: '0.0.1',
    params: { isoDates: true, timestamps: true },
    indexes: {
      primary: { hash: 'pk', sort: 'sk' },
      gs1: { hash: 'gs1pk', sort: 'gs1sk', project: 'all' },
      ls1: { type: 'local', sort: 'total', project: 'all' },
    },
    models: {
      User: {
        pk: { type: String, value: 'user#${userId}' },
        sk: { type: String, value: 'user#' },
        gs1pk: { type: String, value: 'plan#${plan}' },
        gs1sk: { type: String, value: 'user#${userId}' },
        userId: { type: String, generate: 'ulid' },
        email: { type: String, required: true, unique: true },
        plan: { type: String, enum: ['free', 'paid'], default: 'free' },
        logins: { type: Number, default: 0 },
        tags: { type: Set },
        address: { type: Object, schema: { street: { type: String }, zip: { type: String } } },
        born: { type: Date },
      },
      Order: {
        pk: { type: String, value: 'user#${userId}' },
        sk: { type: String, value: 'order#${orderId}' },
        gs1pk: { type: String, value: 'status#${status}' },
        gs1sk: { type: String, value: 'order#${orderId}' },
        userId: { type: String, required: true },
        orderId: { type: String, required: true },
        status: { type: String, default: 'open' },
        total: { type: Number },
      },
    },
  },
})

// The table, as the schema declares it.
assert.equal(await table.exists(), false)
await table.createTable()
assert.equal(await table.exists(), true)
const described = await table.describeTable()
assert.deepEqual(described.Table.GlobalSecondaryIndexes.map((own) => own.IndexName), ['gs1'])
assert.deepEqual(described.Table.LocalSecondaryIndexes.map((own) => own.IndexName), ['ls1'])

const User = table.getModel('User')
const Order = table.getModel('Order')
const id = (number) => `o${String(number).padStart(4, '0')}`

// Create, unique values, types.
const born = new Date('1815-12-10T00:00:00Z')
const ada = await User.create({
  userId: 'ada', email: 'ada@example.com', tags: new Set(['a', 'b']), address: { street: 'Main', zip: '1' }, born,
})
assert.equal(ada.plan, 'free')
const read = await User.get({ userId: 'ada' }, { consistent: true })
assert.deepEqual([read.email, read.born, read.address], ['ada@example.com', born, { street: 'Main', zip: '1' }])
assert.deepEqual([...read.tags].sort(), ['a', 'b'])
assert.ok(read.created instanceof Date)
await assert.rejects(User.create({ userId: 'ada', email: 'other@example.com' }), { code: 'UniqueError' })
await assert.rejects(User.create({ userId: 'eve', email: 'ada@example.com' }), { code: 'UniqueError' })
assert.equal(await User.get({ userId: 'eve' }), undefined)
const made = await User.create({ email: 'bob@example.com' })
assert.match(made.userId, /^[0-9A-Z]{26}$/)

// Updates: arithmetic, paths, sets, conditions.
const updated = await User.update(
  { userId: 'ada', plan: 'paid' },
  { add: { logins: 2 }, set: { 'address.street': 'Side' }, where: '${plan} = {free}', return: 'get' },
)
assert.deepEqual([updated.plan, updated.logins, updated.address], ['paid', 2, { street: 'Side', zip: '1' }])
await assert.rejects(
  User.update({ userId: 'ada', plan: 'paid' }, { where: '${plan} = {free}' }),
  (fault) => /ConditionalCheckFailed|condition/i.test(`${fault.code} ${fault.message}`),
)
await assert.rejects(User.update({ userId: 'nobody', plan: 'paid' }))
await User.update({ userId: 'ada', email: 'countess@example.com' })
await User.create({ userId: 'eve', email: 'ada@example.com' })

// Batches, in groups that the service takes.
for (let from = 0; from < 60; from += 20) {
  const batch = {}
  for (let number = from; number < from + 20; number++) {
    const order = { userId: 'ada', orderId: id(number), total: number, status: number % 3 ? 'open' : 'sent' }
    await Order.create(order, { batch, exists: null })
  }
  assert.equal(await table.batchWrite(batch), true)
}
const batch = {}
for (const number of [1, 2, 3]) await Order.get({ userId: 'ada', orderId: id(number) }, { batch })
const three = await table.batchGet(batch, { parse: true, hidden: false })
assert.deepEqual(three.map((own) => own.total).sort(), [1, 2, 3])

// Queries: ranges, order, filters, pages, indexes, a collection.
const range = await Order.find({ userId: 'ada', sk: { between: [`order#${id(5)}`, `order#${id(7)}`] } })
assert.deepEqual(range.map((own) => own.total), [5, 6, 7])
const begun = await Order.find({ userId: 'ada', sk: { begins: 'order#o002' } }, { reverse: true, limit: 3 })
assert.deepEqual(begun.map((own) => own.total), [29, 28, 27])
let next
const pages = []
do {
  const page = await Order.find({ userId: 'ada' }, { limit: 25, next })
  pages.push(page.length)
  next = page.next
} while (next)
assert.deepEqual(pages, [25, 25, 10])
const sent = await Order.find({ status: 'sent' }, { index: 'gs1', where: '${total} > {50}' })
assert.deepEqual(sent.map((own) => own.total), [51, 54, 57])
const dear = await Order.find({ userId: 'ada', total: { '>=': 57 } }, { index: 'ls1' })
assert.deepEqual(dear.map((own) => own.total), [57, 58, 59])
assert.equal((await Order.find({ userId: 'ada' }, { count: true })).count, 60)
const collection = table.groupByType(await table.queryItems({ pk: 'user#ada' }, { parse: true, hidden: true }))
assert.deepEqual([collection.User.length, collection.Order.length], [1, 60])
assert.equal((await Order.scan({ status: 'sent' })).length, 20)

// Transactions.
const transaction = {}
await User.update({ userId: 'ada' }, { add: { logins: 1 }, transaction })
await Order.create({ userId: 'ada', orderId: id(500), total: 500 }, { transaction })
await User.check({ userId: 'eve' }, { transaction, where: '${plan} = {free}' })
await table.transact('write', transaction)
assert.equal((await User.get({ userId: 'ada' })).logins, 3)
const twice = {}
await User.update({ userId: 'ada' }, { add: { logins: 1 }, transaction: twice })
await Order.create({ userId: 'ada', orderId: id(500), total: 500 }, { transaction: twice })
await assert.rejects(table.transact('write', twice))
assert.equal((await User.get({ userId: 'ada' })).logins, 3)
const reads = {}
await User.get({ userId: 'ada' }, { transaction: reads })
await Order.get({ userId: 'ada', orderId: id(500) }, { transaction: reads })
const both = await table.transact('get', reads, { parse: true, hidden: false })
assert.deepEqual(both.map((own) => own.logins ?? own.total), [3, 500])

await Order.remove({ userId: 'ada', orderId: id(500) })
assert.equal(await Order.get({ userId: 'ada', orderId: id(500) }), undefined)
await User.remove({ userId: 'eve' })
await User.create({ userId: 'eva', email: 'ada@example.com' })
await table.deleteTable('DeleteTableForever')
assert.equal(await table.exists(), false)
