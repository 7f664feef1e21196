// Clients of the server, with and without encryption, and what the scenes share.

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.interceptor.Context;
import software.amazon.awssdk.core.interceptor.ExecutionAttributes;
import software.amazon.awssdk.core.interceptor.ExecutionInterceptor;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.CreateTableRequest;
import software.amazon.awssdk.services.dynamodb.model.DynamoDbException;
import software.amazon.awssdk.services.dynamodb.model.GlobalSecondaryIndex;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.Projection;
import software.amazon.awssdk.services.dynamodb.model.ProjectionType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.StreamSpecification;
import software.amazon.awssdk.services.dynamodb.model.StreamViewType;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.DynamoDbEncryptionInterceptor;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.DynamoDbTableEncryptionConfig;
import software.amazon.cryptography.dbencryptionsdk.dynamodb.model.DynamoDbTablesEncryptionConfig;
import software.amazon.cryptography.materialproviders.IKeyring;
import software.amazon.cryptography.materialproviders.MaterialProviders;
import software.amazon.cryptography.materialproviders.model.AesWrappingAlg;
import software.amazon.cryptography.materialproviders.model.CreateRawAesKeyringInput;
import software.amazon.cryptography.materialproviders.model.MaterialProvidersConfig;

class Connection {
    static final StaticCredentialsProvider CREDENTIALS =
        StaticCredentialsProvider.create(AwsBasicCredentials.create("local", "local"));

    final URI endpoint;
    final ExecutionInterceptor recorder;
    /** Sees what the server holds. */
    final DynamoDbClient plain;

    Connection(URI endpoint, Path sent) {
        this.endpoint = endpoint;
        this.recorder = new Recorder(sent);
        this.plain = client(List.of(recorder));
    }

    /** A client that encrypts and decrypts the items of one table, whose name is the signed one. */
    DynamoDbClient encrypting(DynamoDbTableEncryptionConfig config) {
        return encrypting(config.logicalTableName(), config);
    }

    /** A client that encrypts and decrypts the items of one table. */
    DynamoDbClient encrypting(String table, DynamoDbTableEncryptionConfig config) {
        DynamoDbTablesEncryptionConfig tables = DynamoDbTablesEncryptionConfig.builder()
            .tableEncryptionConfigs(Map.of(table, config))
            .build();
        return client(List.of(DynamoDbEncryptionInterceptor.builder().config(tables).build(), recorder));
    }

    private DynamoDbClient client(List<ExecutionInterceptor> interceptors) {
        return DynamoDbClient.builder()
            .endpointOverride(endpoint)
            .region(Region.US_EAST_1)
            .credentialsProvider(CREDENTIALS)
            .httpClient(UrlConnectionHttpClient.create())
            .overrideConfiguration(settings -> interceptors.forEach(settings::addExecutionInterceptor))
            .build();
    }

    /** A table with the keys pk (S) and sk (N), a stream and these indexes, each with all attributes. */
    void createTable(String name, Map<String, List<String>> indexes) {
        List<AttributeDefinition> attributes = new ArrayList<>();
        attributes.add(attribute("pk", ScalarAttributeType.S));
        attributes.add(attribute("sk", ScalarAttributeType.N));
        List<GlobalSecondaryIndex> made = new ArrayList<>();
        indexes.forEach((index, keys) -> {
            keys.stream().filter(key -> !List.of("pk", "sk").contains(key))
                .forEach(key -> attributes.add(attribute(key, ScalarAttributeType.S)));
            made.add(GlobalSecondaryIndex.builder().indexName(index).keySchema(schema(keys))
                .projection(Projection.builder().projectionType(ProjectionType.ALL).build()).build());
        });
        CreateTableRequest.Builder table = CreateTableRequest.builder()
            .tableName(name)
            .attributeDefinitions(attributes)
            .keySchema(schema(List.of("pk", "sk")))
            .billingMode(BillingMode.PAY_PER_REQUEST)
            .streamSpecification(StreamSpecification.builder()
                .streamEnabled(true).streamViewType(StreamViewType.NEW_AND_OLD_IMAGES).build());
        plain.createTable((made.isEmpty() ? table : table.globalSecondaryIndexes(made)).build());
        plain.waiter().waitUntilTableExists(wanted -> wanted.tableName(name));
    }

    private static AttributeDefinition attribute(String name, ScalarAttributeType type) {
        return AttributeDefinition.builder().attributeName(name).attributeType(type).build();
    }

    private static List<KeySchemaElement> schema(List<String> keys) {
        List<KeySchemaElement> schema = new ArrayList<>();
        for (String key : keys) {
            KeyType type = schema.isEmpty() ? KeyType.HASH : KeyType.RANGE;
            schema.add(KeySchemaElement.builder().attributeName(key).keyType(type).build());
        }
        return schema;
    }

    static MaterialProviders materials() {
        return MaterialProviders.builder()
            .MaterialProvidersConfig(MaterialProvidersConfig.builder().build()).build();
    }

    /** Wraps data keys with a key that the client holds itself. */
    static IKeyring aesKeyring() {
        byte[] key = new byte[32];
        for (int index = 0; index < key.length; index++) {
            key[index] = (byte) index;
        }
        return materials().CreateRawAesKeyring(CreateRawAesKeyringInput.builder()
            .keyName("of the test")
            .keyNamespace("keywright")
            .wrappingKey(ByteBuffer.wrap(key))
            .wrappingAlg(AesWrappingAlg.ALG_AES256_GCM_IV12_TAG16)
            .build());
    }

    static AttributeValue text(String value) {
        return AttributeValue.fromS(value);
    }

    static AttributeValue number(String value) {
        return AttributeValue.fromN(value);
    }

    static Map<String, AttributeValue> key(Map<String, AttributeValue> item) {
        return Map.of("pk", item.get("pk"), "sk", item.get("sk"));
    }

    static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    /** Compares items; the elements of sets have no order. */
    static void same(Map<String, AttributeValue> expected, Map<String, AttributeValue> found) {
        Map<String, AttributeValue> wanted = inOrder(expected);
        check(wanted.equals(inOrder(found)), "expected " + wanted + ", found " + inOrder(found));
    }

    /** Compares items of different keys, in any order. */
    static void same(List<Map<String, AttributeValue>> expected, List<Map<String, AttributeValue>> found) {
        var wanted = byKey(expected);
        check(wanted.equals(byKey(found)), "expected " + wanted + ", found " + byKey(found));
    }

    private static Map<String, Map<String, AttributeValue>> byKey(List<Map<String, AttributeValue>> items) {
        Map<String, Map<String, AttributeValue>> sorted = new TreeMap<>();
        for (Map<String, AttributeValue> item : items) {
            Object twice = sorted.put(item.get("pk") + " " + item.get("sk"), inOrder(item));
            check(twice == null, "an item is there twice: " + item);
        }
        return sorted;
    }

    private static Map<String, AttributeValue> inOrder(Map<String, AttributeValue> item) {
        Map<String, AttributeValue> sorted = new TreeMap<>();
        item.forEach((name, value) -> sorted.put(name, inOrder(value)));
        return sorted;
    }

    private static AttributeValue inOrder(AttributeValue value) {
        return switch (value.type()) {
            case SS -> AttributeValue.fromSs(value.ss().stream().sorted().toList());
            case NS -> AttributeValue.fromNs(value.ns().stream().sorted().toList());
            case BS -> AttributeValue.fromBs(
                value.bs().stream().sorted(Comparator.comparing(SdkBytes::asByteBuffer)).toList());
            case L -> AttributeValue.fromL(value.l().stream().map(Connection::inOrder).toList());
            case M -> AttributeValue.fromM(inOrder(value.m()));
            default -> value;
        };
    }

    /** The client itself refuses, for this reason: the fault is no answer of the server. */
    static void clientRefuses(String reason, Runnable call) {
        try {
            call.run();
        } catch (DynamoDbException answered) {
            throw new AssertionError("the server refused what is to be refused for " + reason, answered);
        } catch (RuntimeException refused) {
            check(refused.getMessage().contains(reason), "expected " + reason + ", got " + refused);
            return;
        }
        throw new AssertionError("nothing was refused for " + reason);
    }

    /** The server refuses with this exception. */
    static void serverRefuses(Class<? extends DynamoDbException> kind, Runnable call) {
        try {
            call.run();
        } catch (DynamoDbException refused) {
            check(kind.isInstance(refused), "expected " + kind + ", got " + refused);
            return;
        }
        throw new AssertionError(kind + " is missing");
    }

    /** Appends what was sent to a file, a line for each request that was answered without an error. */
    private record Recorder(Path sent) implements ExecutionInterceptor {
        @Override
        public void afterExecution(Context.AfterExecution context, ExecutionAttributes attributes) {
            String target = context.httpRequest().firstMatchingHeader("X-Amz-Target").orElseThrow();
            RequestBody body = context.requestBody().orElseThrow();
            try (var stream = body.contentStreamProvider().newStream()) {
                String text = new String(stream.readAllBytes(), StandardCharsets.UTF_8);
                String operation = target.substring(target.indexOf('.') + 1);
                String line = "{\"operation\":\"" + operation + "\",\"body\":" + text + "}\n";
                Files.writeString(sent, line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            } catch (IOException fault) {
                throw new UncheckedIOException(fault);
            }
        }
    }
}
