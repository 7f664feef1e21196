// Searchable encryption: branch keys in a table of the server under a key of a KMS, and queries by beacons.

import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.QueryRequest;
import software.amazon.awssdk.services.kms.KmsClient;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.AsSet;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.BeaconKeySource;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.BeaconStyle;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.BeaconVersion;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.CompoundBeacon;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.DynamoDbTableEncryptionConfig;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.EncryptedPart;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.SearchConfig;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.SignedPart;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.SingleKeyStore;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.StandardBeacon;
import software.amazon.cryptography.dbencryptionsdk.structuredencryption.model.CryptoAction;
import software.amazon.cryptography.keystore.KeyStore;
import software.amazon.cryptography.keystore.model.CreateKeyInput;
import software.amazon.cryptography.keystore.model.CreateKeyStoreInput;
import software.amazon.cryptography.keystore.model.KMSConfiguration;
import software.amazon.cryptography.keystore.model.KeyStoreConfig;
import software.amazon.cryptography.keystore.model.VersionKeyInput;
import software.amazon.cryptography.materialproviders.IKeyring;
import software.amazon.cryptography.materialproviders.model.CreateAwsKmsHierarchicalKeyringInput;

class Beacons {
    static final String TABLE = "Inspections";
    static final String KEYS = "BranchKeys";
    static final String BY_EMAIL = "by_email";
    static final String BY_PLACE = "by_place";
    static final int ITEMS = 60;
    static final int CACHE_SECONDS = 600;
    /** So short that different addresses have the same beacon, as is wanted: the client sorts them out. */
    static final int EMAIL_BITS = 4;
    static final int OTHER_BITS = 10;

    private final Connection connection;
    private final KeyStore keyStore;

    Beacons(Connection connection, URI kms) {
        this.connection = connection;
        KmsClient client = KmsClient.builder()
            .endpointOverride(kms)
            .region(Region.US_EAST_1)
            .credentialsProvider(Connection.CREDENTIALS)
            .httpClient(UrlConnectionHttpClient.create())
            .build();
        String key = client.createKey().keyMetadata().arn();
        this.keyStore = KeyStore.builder().KeyStoreConfig(KeyStoreConfig.builder()
            .ddbClient(connection.plain)
            .ddbTableName(KEYS)
            .logicalKeyStoreName(KEYS)
            .kmsClient(client)
            .kmsConfiguration(KMSConfiguration.builder().kmsKeyArn(key).build())
            .build()).build();
    }

    private static Map<String, AttributeValue> item(int index) {
        return Map.of(
            "pk", Connection.text("work#" + index),
            "sk", Connection.number(String.valueOf(index)),
            "email", Connection.text("person" + index % 30 + "@example.com"),
            "floor", Connection.number(String.valueOf(index % 5)),
            "tools", AttributeValue.fromSs(List.of("tool" + index % 4, "hammer")),
            "state", Connection.text(index % 3 == 0 ? "closed" : "open"));
    }

    private static List<Map<String, AttributeValue>> items(Predicate<Map<String, AttributeValue>> wanted) {
        return IntStream.range(0, ITEMS).mapToObj(Beacons::item).filter(wanted).toList();
    }

    private DynamoDbClient client(String branchKey) {
        IKeyring keyring = Connection.materials().CreateAwsKmsHierarchicalKeyring(
            CreateAwsKmsHierarchicalKeyringInput.builder()
                .branchKeyId(branchKey).keyStore(keyStore).ttlSeconds((long) CACHE_SECONDS).build());
        Map<String, CryptoAction> actions = new HashMap<>();
        List.of("pk", "sk", "state").forEach(name -> actions.put(name, CryptoAction.SIGN_ONLY));
        List.of("email", "floor", "tools").forEach(name -> actions.put(name, CryptoAction.ENCRYPT_AND_SIGN));
        return connection.encrypting(DynamoDbTableEncryptionConfig.builder()
            .logicalTableName(TABLE)
            .partitionKeyName("pk")
            .sortKeyName("sk")
            .attributeActionsOnEncrypt(actions)
            .keyring(keyring)
            .search(SearchConfig.builder().writeVersion(1).versions(List.of(beacons(branchKey))).build())
            .build());
    }

    private BeaconVersion beacons(String branchKey) {
        StandardBeacon email = StandardBeacon.builder().name("email").length(EMAIL_BITS).build();
        StandardBeacon floor = StandardBeacon.builder().name("floor").length(OTHER_BITS).build();
        StandardBeacon tools = StandardBeacon.builder().name("tools").length(OTHER_BITS)
            .style(BeaconStyle.builder().asSet(AsSet.builder().build()).build()).build();
        CompoundBeacon place = CompoundBeacon.builder()
            .name("place")
            .split("|")
            .signed(List.of(SignedPart.builder().name("state").prefix("S-").build()))
            .encrypted(List.of(
                EncryptedPart.builder().name("floor").prefix("F-").build(),
                EncryptedPart.builder().name("email").prefix("E-").build()))
            .build();
        return BeaconVersion.builder()
            .version(1)
            .keyStore(keyStore)
            .keySource(BeaconKeySource.builder()
                .single(SingleKeyStore.builder().keyId(branchKey).cacheTTL(CACHE_SECONDS).build()).build())
            .standardBeacons(List.of(email, floor, tools))
            .compoundBeacons(List.of(place))
            .build();
    }

    void run() {
        keyStore.CreateKeyStore(CreateKeyStoreInput.builder().build());
        String branchKey = keyStore.CreateKey(CreateKeyInput.builder().build()).branchKeyIdentifier();
        Map<String, List<String>> indexes = new HashMap<>();
        indexes.put(BY_EMAIL, List.of("aws_dbe_b_email", "sk"));
        indexes.put(BY_PLACE, List.of("state", "aws_dbe_b_place"));
        connection.createTable(TABLE, indexes);
        DynamoDbClient client = client(branchKey);
        for (int index = 0; index < ITEMS; index++) {
            if (index == ITEMS / 2) {
                // Later items are written under another version of the branch key; beacons stay.
                keyStore.VersionKey(VersionKeyInput.builder().branchKeyIdentifier(branchKey).build());
                client = client(branchKey);
            }
            Map<String, AttributeValue> item = item(index);
            client.putItem(put -> put.tableName(TABLE).item(item));
        }
        standard(client);
        compound(client);
        filters(client);
        for (Map<String, AttributeValue> item : items(any -> true)) {
            Map<String, AttributeValue> key = Connection.key(item);
            Connection.same(item, client.getItem(get -> get.tableName(TABLE).key(key)).item());
        }
        new Tenants(connection, keyStore).run();
    }

    private static List<Map<String, AttributeValue>> all(DynamoDbClient client, QueryRequest query) {
        return client.queryPaginator(query).items().stream().toList();
    }

    private void standard(DynamoDbClient client) {
        int others = 0;
        for (int person = 0; person < 30; person++) {
            AttributeValue email = item(person).get("email");
            QueryRequest.Builder query = QueryRequest.builder().tableName(TABLE).indexName(BY_EMAIL).limit(3);
            List<Map<String, AttributeValue>> found = all(client, query
                .keyConditionExpression("email = :email")
                .expressionAttributeValues(Map.of(":email", email)).build());
            Connection.same(items(item -> item.get("email").equals(email)), found);
            Map<String, AttributeValue> held = connection.plain.getItem(get -> get.tableName(TABLE)
                .key(Connection.key(found.get(0)))).item();
            Connection.check(held.get("email").type() == AttributeValue.Type.B, "the address is encrypted");
            List<Map<String, AttributeValue>> same = all(connection.plain, query
                .keyConditionExpression("aws_dbe_b_email = :beacon")
                .expressionAttributeValues(Map.of(":beacon", held.get("aws_dbe_b_email"))).build());
            Connection.check(same.size() >= found.size(), "the index has all items of a beacon");
            others += same.size() - found.size();
        }
        Connection.check(others > 0, "30 addresses have at most 16 beacons");
    }

    private void compound(DynamoDbClient client) {
        QueryRequest.Builder query = QueryRequest.builder().tableName(TABLE).indexName(BY_PLACE)
            .expressionAttributeNames(Map.of("#state", "state"));
        AttributeValue open = Connection.text("open");
        List<Map<String, AttributeValue>> onFloor = all(client, query
            .keyConditionExpression("#state = :open AND begins_with(place, :start)")
            .expressionAttributeValues(Map.of(":open", open, ":start", Connection.text("S-open|F-2")))
            .build());
        Connection.same(
            items(item -> item.get("state").equals(open) && item.get("floor").n().equals("2")), onFloor);
        Map<String, AttributeValue> one = item(7);
        List<Map<String, AttributeValue>> exact = all(client, query
            .keyConditionExpression("#state = :open AND place = :place")
            .expressionAttributeValues(Map.of(":open", open,
                ":place", Connection.text("S-open|F-2|E-" + one.get("email").s()))).build());
        Connection.same(items(item -> List.of("state", "floor", "email").stream()
            .allMatch(name -> item.get(name).equals(one.get(name)))), exact);
        Connection.check(!exact.isEmpty() && exact.size() < onFloor.size(), "the sort key narrows the query");
    }

    private void filters(DynamoDbClient client) {
        Map<String, Predicate<Map<String, AttributeValue>>> filters = Map.of(
            "contains(tools, :tool)", item -> item.get("tools").ss().contains("tool3"),
            "contains(tools, :tool) AND floor = :floor",
            item -> item.get("tools").ss().contains("tool3") && item.get("floor").n().equals("1"));
        filters.forEach((filter, wanted) -> {
            Map<String, AttributeValue> values = new HashMap<>(Map.of(":tool", Connection.text("tool3")));
            if (filter.contains(":floor")) {
                values.put(":floor", Connection.number("1"));
            }
            List<Map<String, AttributeValue>> found = new ArrayList<>();
            client.scanPaginator(scan -> scan.tableName(TABLE).filterExpression(filter)
                .expressionAttributeValues(values).limit(20)).items().forEach(found::add);
            Connection.check(!found.isEmpty(), filter + " finds items");
            Connection.same(items(wanted), found);
        });
    }
}
