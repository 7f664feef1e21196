// Runs shared scenarios with the Java SDK. Usage: java -cp 'lib/*' RunScenario.java ENDPOINT SCENARIO [ENDPOINT SCENARIO]
//
// Requests and responses are made from JSON and compared with it by the SDK's own description of its classes, which
// has the service's names.

import java.lang.reflect.InvocationTargetException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.SdkField;
import software.amazon.awssdk.core.SdkPojo;
import software.amazon.awssdk.core.protocol.MarshallingType;
import software.amazon.awssdk.core.traits.ListTrait;
import software.amazon.awssdk.core.traits.MapTrait;
import software.amazon.awssdk.core.util.SdkAutoConstructList;
import software.amazon.awssdk.core.util.SdkAutoConstructMap;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.protocols.jsoncore.JsonNode;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.utils.BinaryUtils;
import software.amazon.awssdk.utils.builder.SdkBuilder;

public class RunScenario {
    static final int RETRIES = 100;
    static final String PACKAGE = "software.amazon.awssdk.services.dynamodb.model.";

    /** Makes an object of the SDK from JSON; the builder knows its members. */
    static Object built(JsonNode from, SdkPojo builder) {
        // A copy: a step that is tried again needs its input.
        Map<String, JsonNode> members = new LinkedHashMap<>(from.asObject());
        for (SdkField<?> field : builder.sdkFields()) {
            JsonNode part = members.remove(field.locationName());
            if (part != null) {
                field.set(builder, value(part, field));
            }
        }
        if (!members.isEmpty()) {
            throw new IllegalArgumentException(builder.getClass() + " has no members " + members.keySet());
        }
        return ((SdkBuilder<?, ?>) builder).build();
    }

    static Object value(JsonNode from, SdkField<?> field) {
        MarshallingType<?> type = field.marshallingType();
        if (type == MarshallingType.SDK_POJO) {
            return built(from, field.constructor().get());
        } else if (type == MarshallingType.LIST) {
            SdkField<?> element = field.getTrait(ListTrait.class).memberFieldInfo();
            return new ArrayList<>(from.asArray().stream().map(part -> value(part, element)).toList());
        } else if (type == MarshallingType.MAP) {
            SdkField<?> element = field.getTrait(MapTrait.class).valueFieldInfo();
            Map<String, Object> made = new LinkedHashMap<>();
            from.asObject().forEach((name, part) -> made.put(name, value(part, element)));
            return made;
        } else if (type == MarshallingType.INTEGER) {
            return Integer.valueOf(from.asNumber());
        } else if (type == MarshallingType.LONG) {
            return Long.valueOf(from.asNumber());
        } else if (type == MarshallingType.BOOLEAN) {
            return from.asBoolean();
        } else if (type == MarshallingType.SDK_BYTES) {
            return SdkBytes.fromByteArray(BinaryUtils.fromBase64(from.asString()));
        }
        return from.asString();
    }

    /** An object of the SDK as maps, lists and plain values; members that are not there are left out. */
    static Object plain(Object from) {
        if (from instanceof SdkAutoConstructList || from instanceof SdkAutoConstructMap) {
            return null;
        } else if (from instanceof SdkPojo object) {
            Map<String, Object> members = new LinkedHashMap<>();
            for (SdkField<?> field : object.sdkFields()) {
                Object part = plain(field.getValueOrDefault(object));
                if (part != null) {
                    members.put(field.locationName(), part);
                }
            }
            return members;
        } else if (from instanceof Map<?, ?> map) {
            Map<String, Object> members = new LinkedHashMap<>();
            map.forEach((name, part) -> members.put(name.toString(), plain(part)));
            return members;
        } else if (from instanceof Collection<?> list) {
            return list.stream().map(RunScenario::plain).toList();
        } else if (from instanceof SdkBytes bytes) {
            return BinaryUtils.toBase64(bytes.asByteArray());
        } else if (from instanceof Instant time) {
            return (double) time.getEpochSecond();
        } else if (from instanceof Number number) {
            return number.doubleValue();
        }
        return from;
    }

    /** The first difference, or null. An object may have more members than expected, a list no more elements. */
    static String differs(JsonNode expected, Object actual, String path) {
        if (expected.isObject()) {
            Map<String, JsonNode> wanted = expected.asObject();
            boolean isEmpty = wanted.isEmpty() && !path.isEmpty();
            if (!(actual instanceof Map<?, ?> found) || isEmpty && !found.isEmpty()) {
                return path + ": expected " + expected + ", got " + actual;
            }
            for (Map.Entry<String, JsonNode> member : wanted.entrySet()) {
                String fault = differs(member.getValue(), found.get(member.getKey()), path + "." + member.getKey());
                if (fault != null) {
                    return fault;
                }
            }
            return null;
        } else if (expected.isArray()) {
            List<JsonNode> wanted = expected.asArray();
            if (!(actual instanceof List<?> found) || found.size() != wanted.size()) {
                return path + ": expected " + wanted.size() + " elements, got " + actual;
            }
            for (int index = 0; index < wanted.size(); index++) {
                String fault = differs(wanted.get(index), found.get(index), path + "[" + index + "]");
                if (fault != null) {
                    return fault;
                }
            }
            return null;
        }
        Object wanted = expected.isNumber() ? Double.valueOf(expected.asNumber())
            : expected.isBoolean() ? (Object) expected.asBoolean() : expected.asString();
        return wanted.equals(actual) ? null : path + ": expected " + wanted + ", got " + actual;
    }

    /** Runs an operation by its name. */
    static Object call(DynamoDbClient client, String operation, JsonNode input) throws Exception {
        Class<?> type = Class.forName(PACKAGE + operation + "Request");
        Object request = built(input, (SdkPojo) type.getMethod("builder").invoke(null));
        String name = Character.toLowerCase(operation.charAt(0)) + operation.substring(1);
        try {
            return plain(DynamoDbClient.class.getMethod(name, type).invoke(client, request));
        } catch (InvocationTargetException error) {
            throw (Exception) error.getCause();
        }
    }

    /** Whether an error is of its own class, if the SDK has one. */
    static boolean isTyped(AwsServiceException thrown, String code) {
        try {
            return Class.forName(PACKAGE + code).isInstance(thrown);
        } catch (ClassNotFoundException none) {
            return true;
        }
    }

    /** What is wrong with a step, or null. */
    static String fault(DynamoDbClient client, Map<String, JsonNode> step) throws Exception {
        JsonNode error = step.get("error");
        Object output;
        try {
            output = call(client, step.get("operation").asString(), step.get("input"));
        } catch (AwsServiceException thrown) {
            String said = thrown.awsErrorDetails().errorCode() + ": " + thrown.awsErrorDetails().errorMessage();
            if (error == null) {
                return said;
            }
            Map<String, JsonNode> wanted = error.asObject();
            if (!isTyped(thrown, wanted.get("code").asString())) {
                return "got " + said + " of no class of its own";
            }
            boolean isExpected = said.equals(wanted.get("code").asString() + ": " + wanted.get("message").asString());
            return isExpected ? null : "got " + said;
        }
        if (error != null) {
            return "expected an error, got " + output;
        }
        if (step.containsKey("absent")) {
            for (JsonNode name : step.get("absent").asArray()) {
                if (((Map<?, ?>) output).containsKey(name.asString())) {
                    return name.asString() + " is there";
                }
            }
        }
        return differs(step.get("expect"), output, "");
    }

    static void run(String endpoint, String scenario) throws Exception {
        List<JsonNode> steps = JsonNode.parser().parse(Files.readString(Path.of(scenario))).asArray();
        try (DynamoDbClient client = DynamoDbClient.builder()
                .endpointOverride(URI.create(endpoint))
                .region(Region.US_EAST_1)
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("local", "local")))
                .httpClient(UrlConnectionHttpClient.create())
                .build()) {
            for (JsonNode one : steps) {
                Map<String, JsonNode> step = one.asObject();
                String found = fault(client, step);
                for (int attempt = 0; found != null && step.containsKey("retry_until_expected") && attempt < RETRIES; attempt++) {
                    Thread.sleep(50);
                    found = fault(client, step);
                }
                if (found != null) {
                    System.err.println(step.get("name").asString() + ": " + found);
                    System.exit(1);
                }
            }
        }
        System.out.println(steps.size() + " steps passed");
    }

    public static void main(String[] arguments) throws Exception {
        for (int place = 0; place + 1 < arguments.length; place += 2) {
            run(arguments[place], arguments[place + 1]);
        }
    }
}
