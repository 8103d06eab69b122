// SPDX-License-Identifier: Apache-2.0
package io.vread;

/**
 * Says which jar this is, for {@code vread doctor} and for people: {@code java -cp CLASSPATH
 * io.vread.Version} prints the lines "jar FILE", "version VERSION" and "java VERSION".
 */
public final class Version {
  private Version() {}

  /** The release of the jar, as its manifest has it; "unknown" outside a jar. */
  public static String ofJar() {
    String version = Version.class.getPackage().getImplementationVersion();
    return version == null ? "unknown" : version;
  }

  /** Takes no arguments. */
  public static void main(String[] arguments) {
    System.out.println(
        "jar " + Version.class.getProtectionDomain().getCodeSource().getLocation().getPath());
    System.out.println("version " + ofJar());
    System.out.println("java " + System.getProperty("java.version"));
  }
}
