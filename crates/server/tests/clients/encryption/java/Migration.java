// Tables on their way to the AWS Database Encryption SDK: from items without encryption, and from those of
// the older DynamoDB Encryption Client.

import com.amazonaws.services.dynamodbv2.datamodeling.encryption.DynamoDBEncryptor;
import com.amazonaws.services.dynamodbv2.datamodeling.encryption.providers.WrappedMaterialsProvider;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.crypto.spec.SecretKeySpec;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.DynamoDbTableEncryptionConfig;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.LegacyOverride;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.LegacyPolicy;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.PlaintextOverride;
import software.amazon.cryptography.dbencryptionsdk.structuredencryption.model.CryptoAction;

class Migration {
    static final Map<String, CryptoAction> ACTIONS = Map.of(
        "pk", CryptoAction.SIGN_ONLY,
        "sk", CryptoAction.SIGN_ONLY,
        "name", CryptoAction.ENCRYPT_AND_SIGN,
        "scores", CryptoAction.ENCRYPT_AND_SIGN,
        "status", CryptoAction.SIGN_ONLY,
        "note", CryptoAction.DO_NOTHING);
    /** What the older client adds to its items. */
    static final List<String> LEGACY = List.of("*amzn-ddb-map-desc*", "*amzn-ddb-map-sig*");

    private final Connection connection;

    Migration(Connection connection) {
        this.connection = connection;
    }

    private static Map<String, AttributeValue> item(int index) {
        return new HashMap<>(Map.of(
            "pk", Connection.text("p"),
            "sk", Connection.number(String.valueOf(index)),
            "name", Connection.text("Zoë 🎈 " + index),
            "scores", AttributeValue.fromNs(List.of("3", "-1.5")),
            "status", Connection.text("open"),
            "note", Connection.text("for everybody")));
    }

    private static DynamoDbTableEncryptionConfig.Builder config(String table) {
        return DynamoDbTableEncryptionConfig.builder()
            .logicalTableName(table)
            .partitionKeyName("pk")
            .sortKeyName("sk")
            .attributeActionsOnEncrypt(ACTIONS)
            .allowedUnsignedAttributes(List.of("note"))
            .keyring(Connection.aesKeyring());
    }

    private static void put(DynamoDbClient client, String table, int index) {
        client.putItem(put -> put.tableName(table).item(item(index)));
    }

    private static Map<String, AttributeValue> get(DynamoDbClient client, String table, int index) {
        return client.getItem(get -> get.tableName(table).key(Connection.key(item(index)))).item();
    }

    private static List<Map<String, AttributeValue>> query(DynamoDbClient client, String table) {
        return client.queryPaginator(query -> query
            .tableName(table).keyConditionExpression("pk = :pk").limit(1)
            .expressionAttributeValues(Map.of(":pk", Connection.text("p")))).items().stream().toList();
    }

    void run() {
        fromPlaintext();
        fromLegacyFormat();
    }

    private void fromPlaintext() {
        String table = "Plain";
        connection.createTable(table, Map.of());
        put(connection.plain, table, 0);
        DynamoDbClient first = connection.encrypting(config(table)
            .plaintextOverride(PlaintextOverride.FORCE_PLAINTEXT_WRITE_ALLOW_PLAINTEXT_READ).build());
        DynamoDbClient second = connection.encrypting(config(table)
            .plaintextOverride(PlaintextOverride.FORBID_PLAINTEXT_WRITE_ALLOW_PLAINTEXT_READ).build());
        DynamoDbClient last = connection.encrypting(config(table).build());
        put(first, table, 1);
        Connection.same(item(1), get(connection.plain, table, 1));
        put(second, table, 2);
        Connection.check(get(connection.plain, table, 2).containsKey("aws_dbe_foot"), "it is not encrypted");
        for (DynamoDbClient client : List.of(first, second)) {
            Connection.same(List.of(item(0), item(1), item(2)), query(client, table));
        }
        Connection.clientRefuses("missing expected header and footer attributes", () -> get(last, table, 1));
        put(second, table, 0);
        put(second, table, 1);
        Connection.same(List.of(item(0), item(1), item(2)), query(last, table));
    }

    /** The keys of the older client; `run_encryption.py` has the same. */
    private static DynamoDbClient olderClient(Connection connection, String table, LegacyPolicy policy) {
        SecretKeySpec wrapping = new SecretKeySpec(bytes("a key of 16 byte"), "AES");
        SecretKeySpec signing = new SecretKeySpec(bytes("a key that signs"), "HmacSHA256");
        WrappedMaterialsProvider provider = new WrappedMaterialsProvider(wrapping, wrapping, signing);
        return connection.encrypting(config(table).legacyOverride(LegacyOverride.builder()
            .encryptor(DynamoDBEncryptor.getInstance(provider))
            .policy(policy)
            .attributeActionsOnEncrypt(ACTIONS)
            .build()).build());
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    private void fromLegacyFormat() {
        String table = "Older";
        connection.createTable(table, Map.of());
        DynamoDbClient first = olderClient(
            connection, table, LegacyPolicy.FORCE_LEGACY_ENCRYPT_ALLOW_LEGACY_DECRYPT);
        DynamoDbClient second = olderClient(
            connection, table, LegacyPolicy.FORBID_LEGACY_ENCRYPT_ALLOW_LEGACY_DECRYPT);
        put(first, table, 0);
        put(first, table, 1);
        Map<String, AttributeValue> held = get(connection.plain, table, 0);
        for (String name : List.of(LEGACY.get(0), LEGACY.get(1), "name", "scores")) {
            Connection.check(held.get(name).type() == AttributeValue.Type.B, name + " is not encrypted");
        }
        put(second, table, 2);
        Connection.check(get(connection.plain, table, 2).containsKey("aws_dbe_foot"), "it is not encrypted");
        for (DynamoDbClient client : List.of(first, second)) {
            Connection.same(List.of(item(0), item(1), item(2)), query(client, table));
        }
        for (String name : List.of(LEGACY.get(1), "name")) {
            Map<String, AttributeValue> forged = new HashMap<>(held);
            byte[] changed = held.get(name).b().asByteArray();
            changed[changed.length - 1] ^= 1;
            forged.put(name, AttributeValue.fromB(SdkBytes.fromByteArray(changed)));
            connection.plain.putItem(put -> put.tableName(table).item(forged));
            Connection.clientRefuses("Bad signature", () -> get(second, table, 0));
        }
        put(second, table, 0);
        put(second, table, 1);
        DynamoDbClient last = connection.encrypting(config(table).build());
        Connection.same(List.of(item(0), item(1), item(2)), query(last, table));
    }

    /** Items that `run_encryption.py` has written with the older client for Python. */
    void readItemsOfPython() {
        String table = "OlderOfPython";
        DynamoDbClient client = olderClient(
            connection, table, LegacyPolicy.FORBID_LEGACY_ENCRYPT_ALLOW_LEGACY_DECRYPT);
        Map<String, AttributeValue> held = get(connection.plain, table, 0);
        Connection.check(held.keySet().containsAll(LEGACY), "the format is not the older one: " + held);
        Connection.same(List.of(item(0), item(1), item(2)), query(client, table));
    }
}
