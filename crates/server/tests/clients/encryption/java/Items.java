// Items of every type, written and read in every way, and changes that the client must notice.

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.KeysAndAttributes;
import software.amazon.awssdk.services.dynamodb.model.ReturnValue;
import software.amazon.awssdk.services.dynamodb.model.TransactGetItem;
import software.amazon.awssdk.services.dynamodb.model.TransactWriteItem;
import software.amazon.awssdk.services.dynamodb.model.TransactionCanceledException;
import software.amazon.awssdk.services.dynamodb.model.WriteRequest;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.DynamoDbTableEncryptionConfig;
import software.amazon.cryptography.dbencryptionsdk.structuredencryption.model.CryptoAction;

class Items {
    static final String TABLE = "Vault";
    static final String BY_STATUS = "by_status";
    static final List<String> ENCRYPTED = List.of(
        "name", "empty", "amount", "tiny", "photo", "active", "nothing", "tags", "scores", "chips", "orders",
        "address");
    static final List<String> SIGNED = List.of("pk", "sk", "status", "price", "labels", "limits");
    static final String NOTE = ":note";
    /** Items that the scene leaves behind. */
    static final int KEPT = 30;

    private final Connection connection;
    private final DynamoDbClient encrypting;
    private final String table;

    Items(Connection connection) {
        this(connection, TABLE);
    }

    /** A copy of the table has another name; what is signed has the name of the first one. */
    Items(Connection connection, String table) {
        this.connection = connection;
        this.table = table;
        Map<String, CryptoAction> actions = new HashMap<>();
        ENCRYPTED.forEach(name -> actions.put(name, CryptoAction.ENCRYPT_AND_SIGN));
        SIGNED.forEach(name -> actions.put(name, CryptoAction.SIGN_ONLY));
        actions.put(NOTE, CryptoAction.DO_NOTHING);
        this.encrypting = connection.encrypting(table, DynamoDbTableEncryptionConfig.builder()
            .logicalTableName(TABLE)
            .partitionKeyName("pk")
            .sortKeyName("sk")
            .attributeActionsOnEncrypt(actions)
            .keyring(Connection.aesKeyring())
            .allowedUnsignedAttributePrefix(":")
            .build());
    }

    /** An item with values of every type, as the service gives them back. */
    static Map<String, AttributeValue> item(int index) {
        byte[] bytes = new byte[256];
        for (int at = 0; at < bytes.length; at++) {
            bytes[at] = (byte) (at + index);
        }
        SdkBytes photo = SdkBytes.fromByteArray(bytes);
        Map<String, AttributeValue> item = new HashMap<>();
        item.put("pk", Connection.text("customer#" + index % 7));
        item.put("sk", Connection.number(String.valueOf(index)));
        item.put("name", Connection.text("Zoë Ångström \"" + index + "\" 🎈 \0\n"));
        item.put("empty", Connection.text(""));
        item.put("amount", Connection.number("12345678901234567890.12345678"));
        item.put("tiny", Connection.number("-0.0000000000000000000000000000000000000000000000000001"));
        item.put("photo", AttributeValue.fromB(photo));
        item.put("active", AttributeValue.fromBool(index % 2 == 0));
        item.put("nothing", AttributeValue.fromNul(true));
        item.put("tags", AttributeValue.fromSs(List.of("rot", "grün", "blau")));
        item.put("scores", AttributeValue.fromNs(List.of("3", "-1.5", "100")));
        item.put("chips", AttributeValue.fromBs(List.of(photo, SdkBytes.fromUtf8String("x"))));
        item.put("orders", AttributeValue.fromL(
            List.of(Connection.text("o#1"), AttributeValue.fromL(List.of()))));
        item.put("address", AttributeValue.fromM(
            Map.of("city", Connection.text("Köln"), "zip", Connection.number("50667"))));
        item.put("status", Connection.text(index % 3 == 0 ? "closed" : "open"));
        item.put("price", Connection.number("1.5"));
        item.put("labels", AttributeValue.fromSs(List.of("b", "a", "é")));
        item.put("limits", AttributeValue.fromNs(List.of("20", "3")));
        item.put(NOTE, Connection.text("note " + index));
        return item;
    }

    private static List<Map<String, AttributeValue>> items(int from, int to) {
        return IntStream.range(from, to).mapToObj(Items::item).toList();
    }

    void run() {
        connection.createTable(table, Map.of(BY_STATUS, List.of("status", "sk")));
        oneByOne();
        batches();
        transactions();
        theServerHoldsNoPlaintext();
        changesAreNoticed();
        readAll();
    }

    private Map<String, AttributeValue> get(DynamoDbClient client, Map<String, AttributeValue> item) {
        return client.getItem(get -> get.tableName(table)
            .key(Connection.key(item)).consistentRead(true)).item();
    }

    private void oneByOne() {
        for (Map<String, AttributeValue> item : items(0, 4)) {
            encrypting.putItem(put -> put.tableName(table).item(item)
                .conditionExpression("attribute_not_exists(pk)"));
            Connection.same(item, get(encrypting, item));
        }
        Connection.serverRefuses(ConditionalCheckFailedException.class, () -> encrypting.putItem(put -> put
            .tableName(table).item(item(1)).conditionExpression("attribute_not_exists(pk)")));
        Map<String, AttributeValue> other = new HashMap<>(item(1));
        other.put("name", Connection.text("another"));
        Map<String, AttributeValue> open = Map.of(":open", Connection.text("open"));
        Map<String, AttributeValue> old = encrypting.putItem(put -> put.tableName(table).item(other)
            .conditionExpression("#s = :open").expressionAttributeNames(Map.of("#s", "status"))
            .expressionAttributeValues(open).returnValues(ReturnValue.ALL_OLD)).attributes();
        Connection.same(item(1), old);
        Connection.same(other, get(encrypting, other));
        encrypting.putItem(put -> put.tableName(table).item(item(1)));

        // What the service writes in another way than it was sent: the signature is about the value.
        Map<String, AttributeValue> numbers = new HashMap<>(item(4));
        numbers.put("sk", Connection.number("04.00"));
        numbers.put("price", Connection.number("1.500"));
        numbers.put("limits", AttributeValue.fromNs(List.of("2E1", "3.0")));
        encrypting.putItem(put -> put.tableName(table).item(numbers));
        Connection.same(item(4), get(encrypting, item(4)));
        updates();
        encrypting.putItem(put -> put.tableName(table).item(item(99)));
        Map<String, AttributeValue> deleted = encrypting.deleteItem(delete -> delete.tableName(table)
            .key(Connection.key(item(99))).returnValues(ReturnValue.ALL_OLD)).attributes();
        Connection.same(item(99), deleted);
    }

    /** Only attributes without a signature can be updated in place. */
    private void updates() {
        Map<String, AttributeValue> changed = new HashMap<>(item(2));
        changed.put(NOTE, Connection.text("changed"));
        for (AttributeValue note : List.of(changed.get(NOTE), item(2).get(NOTE))) {
            encrypting.updateItem(update -> update.tableName(table).key(Connection.key(changed))
                .updateExpression("SET #note = :note").conditionExpression("#s = :open")
                .expressionAttributeNames(Map.of("#note", NOTE, "#s", "status"))
                .expressionAttributeValues(Map.of(":note", note, ":open", Connection.text("open"))));
            Connection.same(note.equals(changed.get(NOTE)) ? changed : item(2), get(encrypting, changed));
        }
        for (String name : List.of("status", "name")) {
            String reason = "forbidden on signed attributes : " + name;
            Connection.clientRefuses(reason, () -> encrypting.updateItem(update -> update.tableName(table)
                .key(Connection.key(changed)).updateExpression("SET #n = :new")
                .expressionAttributeNames(Map.of("#n", name))
                .expressionAttributeValues(Map.of(":new", Connection.text("new")))));
        }
    }

    private void batches() {
        List<Map<String, AttributeValue>> items = items(5, 25);
        List<WriteRequest> writes = new ArrayList<>();
        items.forEach(item -> writes.add(WriteRequest.builder().putRequest(put -> put.item(item)).build()));
        var answer = encrypting.batchWriteItem(batch -> batch.requestItems(Map.of(table, writes)));
        Connection.check(answer.unprocessedItems().isEmpty(), "everything is written");
        List<Map<String, AttributeValue>> keys = items.stream().map(Connection::key).toList();
        var found = encrypting.batchGetItem(batch -> batch.requestItems(
            Map.of(table, KeysAndAttributes.builder().keys(keys).build())));
        Connection.same(items, found.responses().get(table));
    }

    private void transactions() {
        encrypting.putItem(put -> put.tableName(table).item(item(98)));
        List<Map<String, AttributeValue>> items = items(25, KEPT);
        List<TransactWriteItem> writes = new ArrayList<>();
        items.forEach(item -> writes.add(TransactWriteItem.builder().put(put -> put
            .tableName(table).item(item).conditionExpression("attribute_not_exists(pk)")).build()));
        TransactWriteItem check = TransactWriteItem.builder().conditionCheck(condition -> condition
            .tableName(table).key(Connection.key(item(3))).conditionExpression("#s = :closed")
            .expressionAttributeNames(Map.of("#s", "status"))
            .expressionAttributeValues(Map.of(":closed", Connection.text("closed")))).build();
        writes.add(check);
        writes.add(TransactWriteItem.builder()
            .delete(delete -> delete.tableName(table).key(Connection.key(item(98)))).build());
        encrypting.transactWriteItems(transaction -> transaction.transactItems(writes));
        Connection.serverRefuses(TransactionCanceledException.class,
            () -> encrypting.transactWriteItems(transaction -> transaction.transactItems(writes)));
        List<TransactGetItem> reads = items.stream().map(item -> TransactGetItem.builder()
            .get(get -> get.tableName(table).key(Connection.key(item))).build()).toList();
        var found = encrypting.transactGetItems(transaction -> transaction.transactItems(reads));
        Connection.same(items, found.responses().stream().map(one -> one.item()).toList());
    }

    private void theServerHoldsNoPlaintext() {
        for (Map<String, AttributeValue> item : items(0, KEPT)) {
            Map<String, AttributeValue> held = get(connection.plain, item);
            for (String name : List.of("aws_dbe_head", "aws_dbe_foot")) {
                int length = held.get(name).b().asByteArray().length;
                Connection.check(length > 16, name + " is missing in " + held);
            }
            for (String name : ENCRYPTED) {
                Connection.check(held.get(name).type() == AttributeValue.Type.B, name + " is not encrypted");
                Connection.check(!held.get(name).equals(item.get(name)), name + " is not encrypted");
            }
            for (String name : SIGNED) {
                Connection.same(Map.of(name, item.get(name)), Map.of(name, held.get(name)));
            }
        }
    }

    private static AttributeValue altered(AttributeValue value) {
        if (value.type() != AttributeValue.Type.B) {
            return Connection.text(value.s() + " ");
        }
        byte[] bytes = value.b().asByteArray();
        bytes[bytes.length - 1] ^= 1;
        return AttributeValue.fromB(SdkBytes.fromByteArray(bytes));
    }

    private void changesAreNoticed() {
        Map<String, AttributeValue> item = item(6);
        Map<String, AttributeValue> held = get(connection.plain, item);
        String mismatch = "Signature of record does not match";
        Map<String, String> reasons = Map.of(
            "aws_dbe_head", "Key commitment mismatch", "aws_dbe_foot", "Signature did not verify",
            "name", mismatch, "photo", mismatch, "status", mismatch);
        reasons.forEach((name, reason) -> refuses(reason, item, with(held, name, altered(held.get(name)))));
        refuses(mismatch, item, with(held, "name", get(connection.plain, item(13)).get("name")));
        Map<String, AttributeValue> shortened = new HashMap<>(held);
        shortened.remove("labels");
        refuses("something that was signed is now unsigned", item, shortened);
        Map<String, AttributeValue> noted = with(held, NOTE, Connection.text("by anybody"));
        connection.plain.putItem(put -> put.tableName(table).item(noted));
        Connection.check(get(encrypting, item).get(NOTE).s().equals("by anybody"), "a note is not signed");
        connection.plain.putItem(put -> put.tableName(table).item(held));
    }

    private static Map<String, AttributeValue> with(
            Map<String, AttributeValue> item, String name, AttributeValue value) {
        Map<String, AttributeValue> changed = new HashMap<>(item);
        changed.put(name, value);
        return changed;
    }

    /** Puts a forged item in the place of one, which the client then refuses to read. */
    private void refuses(
            String reason, Map<String, AttributeValue> item, Map<String, AttributeValue> forged) {
        connection.plain.putItem(put -> put.tableName(table).item(forged));
        Connection.clientRefuses(reason, () -> get(encrypting, item));
        Connection.clientRefuses(reason, () -> encrypting.query(query -> query
            .tableName(table).keyConditionExpression("pk = :pk")
            .expressionAttributeValues(Map.of(":pk", item.get("pk")))));
    }

    /** Reads what the scene left behind, in pages. */
    void readAll() {
        List<Map<String, AttributeValue>> items = items(0, KEPT);
        items.forEach(item -> Connection.same(item, get(encrypting, item)));
        List<Map<String, AttributeValue>> scanned = encrypting
            .scanPaginator(scan -> scan.tableName(table).limit(7)).items().stream().toList();
        Connection.same(items, scanned);
        List<Map<String, AttributeValue>> queried = encrypting.queryPaginator(query -> query
            .tableName(table).keyConditionExpression("pk = :pk AND sk > :least")
            .expressionAttributeValues(
                Map.of(":pk", Connection.text("customer#1"), ":least", Connection.number("1"))))
            .items().stream().toList();
        Connection.same(List.of(item(8), item(15), item(22), item(29)), queried);
        List<Map<String, AttributeValue>> closed = encrypting.queryPaginator(query -> query
            .tableName(table).indexName(BY_STATUS).limit(4)
            .keyConditionExpression("#s = :closed").expressionAttributeNames(Map.of("#s", "status"))
            .expressionAttributeValues(Map.of(":closed", Connection.text("closed"))))
            .items().stream().toList();
        Connection.same(
            items.stream().filter(item -> item.get("status").s().equals("closed")).toList(), closed);
    }
}
