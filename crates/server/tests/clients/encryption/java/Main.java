// What encrypts items before they are sent: the AWS Database Encryption SDK for Java, against a real server.
//
// Usage: Main SCENE ENDPOINT SENT [KMS-ENDPOINT or COPY]. Every acknowledged write is appended to the file
// SENT as it went over the wire, so that another client can compare it with what it reads.

import java.net.URI;
import java.nio.file.Path;

public class Main {
    public static void main(String[] arguments) {
        Connection connection = new Connection(URI.create(arguments[1]), Path.of(arguments[2]));
        switch (arguments[0]) {
            case "items" -> new Items(connection).run();
            case "read" -> new Items(connection).readAll();
            case "copy" -> new Items(connection, arguments[3]).readAll();
            case "migrations" -> new Migration(connection).run();
            case "python" -> new Migration(connection).readItemsOfPython();
            case "beacons" -> new Beacons(connection, URI.create(arguments[3])).run();
            default -> throw new IllegalArgumentException("there is no scene " + arguments[0]);
        }
        // Caches of the libraries have threads that are no daemons.
        System.exit(0);
    }
}
