// ElectroDB's own features against a server. Usage: node run_electrodb.mjs ENDPOINT
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { CreateTableCommand, DeleteTableCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { Entity, Service, createConversions } from 'electrodb'

const client = new DynamoDBClient({
  endpoint: process.argv[2],
  region: 'us-east-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
})
const table = 'ElectroShop'
const text = (AttributeName) => ({ AttributeName, AttributeType: 'S' })
const key = (pk, sk) => [
  { AttributeName: pk, KeyType: 'HASH' },
  { AttributeName: sk, KeyType: 'RANGE' },
]
await client.send(
  new CreateTableCommand({
    TableName: table,
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: key('pk', 'sk'),
    AttributeDefinitions: ['pk', 'sk', 'gsi1pk', 'gsi1sk'].map(text),
    GlobalSecondaryIndexes: [
      { IndexName: 'gsi1', KeySchema: key('gsi1pk', 'gsi1sk'), Projection: { ProjectionType: 'ALL' } },
    ],
  }),
)

const customers = new Entity(
  {
    model: { entity: 'customer', version: '1', service: 'shop' },
    attributes: {
      customerId: { type: 'string', required: true },
      name: { type: 'string', required: true, validate: /^.{1,20}$/ },
      plan: { type: ['free', 'paid'], default: 'free' },
      address: { type: 'map', properties: { street: { type: 'string' }, floor: { type: 'number' } } },
      labels: { type: 'set', items: 'string' },
      orders: { type: 'number', default: 0 },
      createdAt: { type: 'number', readOnly: true, default: () => 1700000000000 },
    },
    indexes: {
      byId: { collection: 'account', pk: { field: 'pk', composite: ['customerId'] }, sk: { field: 'sk', composite: [] } },
    },
  },
  { client, table },
)
const orders = new Entity(
  {
    model: { entity: 'order', version: '1', service: 'shop' },
    attributes: {
      customerId: { type: 'string', required: true },
      orderId: { type: 'string', required: true },
      status: { type: ['open', 'sent', 'lost'], required: true },
      placed: { type: 'string', required: true },
      total: { type: 'number' },
      lines: { type: 'list', items: { type: 'map', properties: { sku: { type: 'string' }, n: { type: 'number' } } } },
    },
    indexes: {
      byCustomer: {
        collection: 'account',
        pk: { field: 'pk', composite: ['customerId'] },
        sk: { field: 'sk', composite: ['orderId'] },
      },
      byStatus: {
        index: 'gsi1',
        pk: { field: 'gsi1pk', composite: ['status'] },
        sk: { field: 'gsi1sk', composite: ['placed'] },
      },
    },
  },
  { client, table },
)
const shop = new Service({ customers, orders })
const id = (number) => `o${String(number).padStart(4, '0')}`
const order = (customerId, number, more = {}) => ({
  customerId,
  orderId: id(number),
  status: number % 3 ? 'open' : 'sent',
  placed: `2026-01-${String((number % 28) + 1).padStart(2, '0')}`,
  total: number,
  ...more,
})
// The code of the service's error, which the library wraps.
const refused = (fault) => fault.cause?.name === 'ConditionalCheckFailedException'

// Create, read, conditions.
const ada = { customerId: 'ada', name: 'Ada', labels: ['a', 'b'], address: { street: 'Main', floor: 3 } }
await customers.create(ada).go()
await assert.rejects(customers.create(ada).go(), refused)
const read = (await customers.get({ customerId: 'ada' }).go({ consistent: true })).data
assert.deepEqual([read.plan, read.orders, read.createdAt, read.address], ['free', 0, 1700000000000, ada.address])
assert.deepEqual([...read.labels].sort(), ['a', 'b'])
assert.equal((await customers.get({ customerId: 'nobody' }).go()).data, null)

// Updates: arithmetic, sets, paths, conditions, what is returned.
const updated = await customers
  .patch({ customerId: 'ada' })
  .set({ plan: 'paid', 'address.street': 'Side' })
  .add({ orders: 2, labels: ['c'] })
  .remove(['address.floor'])
  .where(({ plan }, { eq }) => eq(plan, 'free'))
  .go({ response: 'all_new' })
assert.deepEqual([updated.data.plan, updated.data.orders, updated.data.address], ['paid', 2, { street: 'Side' }])
assert.deepEqual([...updated.data.labels].sort(), ['a', 'b', 'c'])
await assert.rejects(customers.patch({ customerId: 'nobody' }).set({ plan: 'paid' }).go(), refused)
await customers.upsert({ customerId: 'bob', name: 'Bob' }).go()
await assert.rejects(
  customers.remove({ customerId: 'bob' }).where(({ plan }, { eq }) => eq(plan, 'paid')).go(),
  refused,
)

// Batches of more than 25 writes and 100 reads.
const many = Array.from({ length: 120 }, (_, number) => order('ada', number))
assert.deepEqual((await orders.put(many).go({ concurrency: 2 })).unprocessed, [])
const got = await orders.get(many.map(({ customerId, orderId }) => ({ customerId, orderId }))).go({ concurrency: 2 })
assert.deepEqual([got.data.length, got.unprocessed.length], [120, 0])
assert.deepEqual((await orders.delete([{ customerId: 'ada', orderId: id(119) }]).go()).unprocessed, [])

// Queries: ranges, order, filters, pages, an index, a collection.
const between = await orders.query.byCustomer({ customerId: 'ada' }).between({ orderId: id(5) }, { orderId: id(7) }).go()
assert.deepEqual(between.data.map((own) => own.total), [5, 6, 7])
const newest = await orders.query.byCustomer({ customerId: 'ada' }).go({ order: 'desc', limit: 2 })
assert.deepEqual(newest.data.map((own) => own.total), [118, 117])
let cursor = null
const pages = []
do {
  const page = await orders.query.byCustomer({ customerId: 'ada' }).go({ limit: 50, cursor })
  pages.push(page.data.length)
  cursor = page.cursor
} while (cursor)
assert.deepEqual(pages, [50, 50, 19])
const sent = await orders.query
  .byStatus({ status: 'sent' })
  .gte({ placed: '2026-01-20' })
  .where(({ total }, { gt }) => gt(total, 100))
  .go({ pages: 'all' })
const expected = many.filter((own) => own.status === 'sent' && own.placed >= '2026-01-20' && own.total > 100 && own.total < 119)
assert.deepEqual(sent.data.map((own) => own.total).sort((a, b) => a - b), expected.map((own) => own.total))
const account = await shop.collections.account({ customerId: 'ada' }).go({ pages: 'all' })
assert.deepEqual([account.data.customers.length, account.data.orders.length], [1, 119])
const found = await orders.match({ customerId: 'ada', status: 'sent' }).go({ pages: 'all' })
assert.equal(found.data.length, 40)
assert.equal((await orders.scan.go({ pages: 'all' })).data.length, 119)
const conversions = createConversions(orders)
assert.equal(conversions.byAccessPattern.byCustomer.fromComposite.toKeys({ customerId: 'ada', orderId: 'x' }).pk, '$shop#customerid_ada')

// Transactions.
const placed = await shop.transaction
  .write(({ customers, orders }) => [
    customers.patch({ customerId: 'ada' }).add({ orders: 1 }).commit(),
    orders.create(order('ada', 500)).commit(),
    customers.check({ customerId: 'bob' }).where(({ plan }, { eq }) => eq(plan, 'free')).commit(),
  ])
  .go({ token: randomUUID() })
assert.equal(placed.canceled, false)
const cancelled = await shop.transaction
  .write(({ customers, orders }) => [
    customers.patch({ customerId: 'ada' }).add({ orders: 1 }).commit(),
    orders.create(order('ada', 500)).commit(),
  ])
  .go()
assert.equal(cancelled.canceled, true)
assert.deepEqual(cancelled.data.map((own) => own.code), ['None', 'ConditionalCheckFailed'])
const both = await shop.transaction
  .get(({ customers, orders }) => [
    customers.get({ customerId: 'ada' }).commit(),
    orders.get({ customerId: 'ada', orderId: id(500) }).commit(),
  ])
  .go()
assert.deepEqual([both.data[0].item.orders, both.data[1].item.total], [3, 500])

await client.send(new DeleteTableCommand({ TableName: table }))
