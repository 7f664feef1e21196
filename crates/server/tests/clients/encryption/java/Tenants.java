// A table that tenants share, each with a branch key of its own for its items and their beacons.

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.DynamoDbEncryption;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.IDynamoDbKeyBranchKeyIdSupplier;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.BeaconKeySource;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.BeaconVersion;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.DynamoDbEncryptionConfig;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.DynamoDbTableEncryptionConfig;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.GetBranchKeyIdFromDdbKeyOutput;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.MultiKeyStore;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.SearchConfig;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.StandardBeacon;
import software.amazon.cryptography.dbencryptionsdk.structuredencryption.model.CryptoAction;
import software.amazon.cryptography.keystore.KeyStore;
import software.amazon.cryptography.keystore.model.CreateKeyInput;
import software.amazon.cryptography.materialproviders.IKeyring;
import software.amazon.cryptography.materialproviders.model.CreateAwsKmsHierarchicalKeyringInput;

class Tenants {
    static final String TABLE = "Shared";
    static final String BY_EMAIL = "by_email";
    static final int ITEMS = 6;
    /** Also bound to the data keys, which makes headers of version 2. */
    static final CryptoAction SIGNED = CryptoAction.SIGN_AND_INCLUDE_IN_ENCRYPTION_CONTEXT;

    private final Connection connection;
    private final KeyStore keyStore;

    Tenants(Connection connection, KeyStore keyStore) {
        this.connection = connection;
        this.keyStore = keyStore;
    }

    /** The tenant's name is the id of its branch key. */
    private static Map<String, AttributeValue> item(String tenant, int index) {
        return Map.of(
            "pk", Connection.text(tenant),
            "sk", Connection.number(String.valueOf(index)),
            "email", Connection.text("person" + index % 3 + "@example.com"));
    }

    private static List<Map<String, AttributeValue>> items(String tenant, int person) {
        return List.of(item(tenant, person), item(tenant, person + 3));
    }

    private DynamoDbClient client() {
        IDynamoDbKeyBranchKeyIdSupplier ofKey = input ->
            GetBranchKeyIdFromDdbKeyOutput.builder().branchKeyId(input.ddbKey().get("pk").s()).build();
        var supplier = DynamoDbEncryption.builder()
            .DynamoDbEncryptionConfig(DynamoDbEncryptionConfig.builder().build()).build()
            .CreateDynamoDbEncryptionBranchKeyIdSupplier(
                software.amazon.cryptography.dbencryptionsdk.dynamodb.model
                    .CreateDynamoDbEncryptionBranchKeyIdSupplierInput.builder()
                    .ddbKeyBranchKeyIdSupplier(ofKey).build())
            .branchKeyIdSupplier();
        IKeyring keyring = Connection.materials().CreateAwsKmsHierarchicalKeyring(
            CreateAwsKmsHierarchicalKeyringInput.builder().branchKeyIdSupplier(supplier).keyStore(keyStore)
                .ttlSeconds((long) Beacons.CACHE_SECONDS).build());
        BeaconVersion beacons = BeaconVersion.builder()
            .version(1)
            .keyStore(keyStore)
            .keySource(BeaconKeySource.builder().multi(MultiKeyStore.builder()
                .keyFieldName("pk").cacheTTL(Beacons.CACHE_SECONDS).build()).build())
            .standardBeacons(List.of(StandardBeacon.builder().name("email").length(32).build()))
            .build();
        return connection.encrypting(DynamoDbTableEncryptionConfig.builder()
            .logicalTableName(TABLE)
            .partitionKeyName("pk")
            .sortKeyName("sk")
            .attributeActionsOnEncrypt(Map.of("pk", SIGNED, "sk", SIGNED,
                "email", CryptoAction.ENCRYPT_AND_SIGN))
            .keyring(keyring)
            .search(SearchConfig.builder().writeVersion(1).versions(List.of(beacons)).build())
            .build());
    }

    private static List<Map<String, AttributeValue>> query(DynamoDbClient client, String tenant, int person) {
        return client.queryPaginator(query -> query.tableName(TABLE).indexName(BY_EMAIL)
            .keyConditionExpression("email = :email AND pk = :tenant")
            .expressionAttributeValues(Map.of(
                ":email", item(tenant, person).get("email"), ":tenant", Connection.text(tenant))))
            .items().stream().toList();
    }

    void run() {
        List<String> tenants = new ArrayList<>();
        for (int tenant = 0; tenant < 2; tenant++) {
            tenants.add(keyStore.CreateKey(CreateKeyInput.builder().build()).branchKeyIdentifier());
        }
        connection.createTable(TABLE, Map.of(BY_EMAIL, List.of("aws_dbe_b_email", "pk")));
        DynamoDbClient client = client();
        for (String tenant : tenants) {
            for (int index = 0; index < ITEMS; index++) {
                Map<String, AttributeValue> item = item(tenant, index);
                client.putItem(put -> put.tableName(TABLE).item(item));
            }
        }
        for (String tenant : tenants) {
            Connection.same(items(tenant, 1), query(client, tenant, 1));
        }
        Map<String, AttributeValue> first = held(tenants.get(0));
        Map<String, AttributeValue> second = held(tenants.get(1));
        Connection.check(!first.get("aws_dbe_b_email").equals(second.get("aws_dbe_b_email")),
            "equal addresses of two tenants have the same beacon");
        forget(tenants.get(0));
        DynamoDbClient later = client();
        Connection.same(items(tenants.get(1), 2), query(later, tenants.get(1), 2));
        Connection.clientRefuses("No item found for corresponding branch key", () -> later.getItem(get -> get.tableName(TABLE)
            .key(Connection.key(item(tenants.get(0), 2)))));
    }

    private Map<String, AttributeValue> held(String tenant) {
        return connection.plain.getItem(get -> get
            .tableName(TABLE).key(Connection.key(item(tenant, 1)))).item();
    }

    /** Without its branch key nobody reads a tenant's items again. */
    private void forget(String tenant) {
        List<Map<String, AttributeValue>> keys = connection.plain.queryPaginator(query -> query
            .tableName(Beacons.KEYS).keyConditionExpression("#id = :tenant")
            .expressionAttributeNames(Map.of("#id", "branch-key-id"))
            .expressionAttributeValues(Map.of(":tenant", Connection.text(tenant)))).items().stream().toList();
        Connection.check(keys.size() >= 3, "a branch key has a version, the active one and a beacon key");
        for (Map<String, AttributeValue> key : keys) {
            connection.plain.deleteItem(delete -> delete.tableName(Beacons.KEYS).key(
                Map.of("branch-key-id", key.get("branch-key-id"), "type", key.get("type"))));
        }
    }
}
