// SPDX-License-Identifier: GPL-2.0-or-later

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import javax.management.InstanceNotFoundException;
import javax.management.ObjectName;

/**
 * A Java program of an application's bench. program.py starts it and talks to it: it takes a
 * command per line of standard input, words apart by tabs, and answers with a line of JSON.
 *
 * <p>What the application prints goes to standard error. A failed command is answered with {@code
 * {"error": ...}}. The command {@code statistics} tells what vRead's plug-in has counted.
 */
abstract class Commands {
    /** Runs a command other than {@code statistics}; the answer is JSON. */
    abstract String run(String[] words) throws Exception;

    final void serve() throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            answers.println(answer(line.split("\t")));
            answers.flush();
        }
        // Threads of applications may outlive them.
        System.exit(0);
    }

    private String answer(String[] words) {
        try {
            return words[0].equals("statistics") ? statistics() : run(words);
        } catch (Throwable e) {
            e.printStackTrace();
            return "{\"error\": " + quoted(e.toString()) + "}";
        }
    }

    /** Empty without the plug-in. */
    private static String statistics() throws Exception {
        ObjectName client = new ObjectName("io.vread:type=Client");
        try {
            Object json =
                    ManagementFactory.getPlatformMBeanServer().invoke(client, "json", null, null);
            return json.toString().trim();
        } catch (InstanceNotFoundException e) {
            return "{}";
        }
    }

    static double secondsSince(long nanoTime) {
        return (System.nanoTime() - nanoTime) / 1e9;
    }

    static MessageDigest digest() throws Exception {
        return MessageDigest.getInstance("SHA-256");
    }

    static String hex(MessageDigest digest) {
        StringBuilder text = new StringBuilder();
        for (byte each : digest.digest()) {
            text.append(String.format("%02x", each));
        }
        return text.toString();
    }

    static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else {
                out.append(c < ' ' ? ' ' : c);
            }
        }
        return out.append('"').toString();
    }
}
