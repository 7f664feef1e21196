// Dynamoose's own features against a server. Usage: node run_dynamoose.mjs ENDPOINT
import assert from 'node:assert/strict'
import dynamoose from 'dynamoose'

const client = new dynamoose.aws.ddb.DynamoDB({
  endpoint: process.argv[2],
  region: 'us-east-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
})
dynamoose.aws.ddb.set(client)

const address = new dynamoose.Schema({ street: String, floor: Number })
const schema = new dynamoose.Schema(
  {
    customer: { type: String, hashKey: true },
    number: { type: Number, rangeKey: true },
    status: {
      type: String,
      enum: ['open', 'sent', 'lost'],
      default: 'open',
      index: { name: 'byStatus', type: 'global', rangeKey: 'placed', project: ['total'] },
    },
    placed: Date,
    total: { type: Number, index: { name: 'byTotal', type: 'local', project: true } },
    address,
    labels: { type: Set, schema: [String] },
    lines: { type: Array, schema: [{ type: Object, schema: { sku: String, n: Number } }] },
    paid: Boolean,
    note: { type: String, required: false, validate: (text) => text.length < 20 },
  },
  { timestamps: true },
)
const Order = dynamoose.model('DynamooseOrder', schema)
const table = new dynamoose.Table('DynamooseOrders', [Order], {
  initialize: false,
  throughput: 'ON_DEMAND',
  expires: { ttl: 30 * 86400 * 1000, attribute: 'ttl' },
  tags: { team: 'shop' },
  streamOptions: { enabled: true, type: 'NEW_AND_OLD_IMAGES' },
  waitForActive: { enabled: true, check: { timeout: 10000, frequency: 50 } },
})

// The table, as the schema declares it; a second start finds it as it should be.
await table.initialize()
const { Table: described } = await client.describeTable({ TableName: 'DynamooseOrders' })
assert.deepEqual(described.GlobalSecondaryIndexes.map((own) => own.IndexName), ['byStatus'])
assert.deepEqual(described.LocalSecondaryIndexes.map((own) => own.IndexName), ['byTotal'])
assert.equal(described.StreamSpecification.StreamViewType, 'NEW_AND_OLD_IMAGES')
const { TimeToLiveDescription: expiry } = await client.describeTimeToLive({ TableName: 'DynamooseOrders' })
assert.deepEqual([expiry.TimeToLiveStatus, expiry.AttributeName], ['ENABLED', 'ttl'])
const { Tags: tags } = await client.listTagsOfResource({ ResourceArn: described.TableArn })
assert.deepEqual(tags, [{ Key: 'team', Value: 'shop' }])

const order = (number) => ({
  customer: 'ada',
  number,
  total: number * 10,
  status: number % 3 ? 'open' : 'sent',
  placed: new Date(Date.UTC(2026, 0, number)),
})
const conditional = { name: 'ConditionalCheckFailedException' }

// Create, types, conditions.
await Order.create({
  ...order(1), address: { street: 'Main', floor: 3 }, labels: new Set(['a', 'b']), lines: [{ sku: 'x', n: 2 }], paid: true,
})
await assert.rejects(Order.create(order(1)), conditional)
await assert.rejects(Order.create({ ...order(2), status: 'eaten' }))
await assert.rejects(Order.create({ ...order(2), note: 'x'.repeat(30) }))
const read = await Order.get({ customer: 'ada', number: 1 }, { consistent: true })
assert.deepEqual([read.address.floor, read.lines[0].sku, read.paid, read.placed.getTime()], [3, 'x', true, Date.UTC(2026, 0, 1)])
assert.deepEqual([...read.labels].sort(), ['a', 'b'])
assert.ok(read.createdAt instanceof Date && read.ttl instanceof Date)
assert.equal(await Order.get({ customer: 'ada', number: 999 }), undefined)

// Updates: arithmetic, lists, removal, conditions.
const updated = await Order.update(
  { customer: 'ada', number: 1 },
  { $ADD: { total: 5, labels: new Set(['c']) }, $SET: { status: 'sent' }, $REMOVE: ['paid'] },
  { condition: new dynamoose.Condition().where('status').eq('open') },
)
assert.deepEqual([updated.total, updated.status, updated.paid], [15, 'sent', undefined])
assert.deepEqual([...updated.labels].sort(), ['a', 'b', 'c'])
const open = new dynamoose.Condition().where('status').eq('open')
await assert.rejects(Order.update({ customer: 'ada', number: 1 }, { total: 1 }, { condition: open }), conditional)
await assert.rejects(Order.delete({ customer: 'ada', number: 1 }, { condition: open }), conditional)
read.total = 10
read.status = 'open'
await read.save()

// Batches, in groups that the service takes.
for (let from = 2; from <= 101; from += 25) {
  const group = Array.from({ length: 25 }, (_, place) => order(from + place))
  assert.deepEqual((await Order.batchPut(group)).unprocessedItems, [])
}
const keys = Array.from({ length: 100 }, (_, place) => ({ customer: 'ada', number: place + 1 }))
const got = await Order.batchGet(keys)
assert.deepEqual([got.length, got.unprocessedKeys.length], [100, 0])
assert.deepEqual((await Order.batchDelete([{ customer: 'ada', number: 101 }])).unprocessedItems, [])

// Queries: ranges, order, filters, counts, pages, indexes.
const numbers = (found) => found.map((own) => own.number)
assert.deepEqual(numbers(await Order.query('customer').eq('ada').where('number').between(5, 7).exec()), [5, 6, 7])
assert.deepEqual(numbers(await Order.query('customer').eq('ada').sort('descending').limit(2).exec()), [100, 99])
const sent = await Order.query('status').eq('sent').where('placed').ge(Date.UTC(2026, 2, 1)).using('byStatus').all().exec()
assert.deepEqual(numbers(sent), Array.from({ length: 14 }, (_, place) => 60 + 3 * place))
const dear = await Order.query('customer').eq('ada').where('total').gt(980).using('byTotal').exec()
assert.deepEqual(numbers(dear), [99, 100])
assert.equal((await Order.query('customer').eq('ada').filter('status').eq('sent').count().exec()).count, 33)
let lastKey
const pages = []
do {
  const query = Order.query('customer').eq('ada').attributes(['customer', 'number']).limit(40)
  const page = await (lastKey ? query.startAt(lastKey) : query).exec()
  pages.push(page.length)
  lastKey = page.lastKey
} while (lastKey)
assert.deepEqual(pages, [40, 40, 20])
assert.deepEqual(numbers(await Order.scan('total').lt(40).all().exec()).sort(), [1, 2, 3])
assert.equal((await Order.scan().parallel(3).all().exec()).length, 100)

// Transactions.
await dynamoose.transaction([
  Order.transaction.create({ ...order(500), customer: 'bob' }),
  Order.transaction.update({ customer: 'ada', number: 2 }, { status: 'sent' }),
  Order.transaction.delete({ customer: 'ada', number: 4 }),
  Order.transaction.condition({ customer: 'ada', number: 3 }, new dynamoose.Condition().where('status').eq('sent')),
])
await assert.rejects(
  dynamoose.transaction([
    Order.transaction.update({ customer: 'ada', number: 5 }, { status: 'lost' }),
    Order.transaction.create({ ...order(500), customer: 'bob' }),
  ]),
  (fault) => {
    assert.equal(fault.name, 'TransactionCanceledException')
    assert.deepEqual(fault.CancellationReasons.map((own) => own.Code), ['None', 'ConditionalCheckFailed'])
    return true
  },
)
assert.equal((await Order.get({ customer: 'ada', number: 5 })).status, 'open')
const both = await dynamoose.transaction([
  Order.transaction.get({ customer: 'bob', number: 500 }),
  Order.transaction.get({ customer: 'ada', number: 2 }),
])
assert.deepEqual(both.map((own) => own.status), ['open', 'sent'])
assert.equal(await Order.get({ customer: 'ada', number: 4 }), undefined)

await client.deleteTable({ TableName: 'DynamooseOrders' })
