// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.metrics;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import org.junit.Test;

/** The JSON text of {@link Statistics}. */
public class StatisticsTest {
  private final Statistics statistics = new Statistics();

  @Test
  public void json() throws IOException {
    statistics.describe("/dev/\"odd\\\n\u00e9", "/lib/libvread_jni.so");
    statistics.opened();
    statistics.read(100);
    statistics.read(11);
    statistics.readFailed("EBADE");
    statistics.refused("ENOENT");
    statistics.refused("backoff");
    statistics.refused("ENOENT");
    statistics.compared(true);
    statistics.compared(true);
    statistics.compared(false);
    JsonNode json = new ObjectMapper().readTree(statistics.json());
    assertEquals(StatisticsFile.pid(), json.get("pid").asLong());
    assertEquals("/dev/\"odd\\\n\u00e9", json.get("endpoint").asText());
    assertEquals("/lib/libvread_jni.so", json.get("library").asText());
    assertEquals(1, json.at("/vread/opens").asLong());
    assertEquals(2, json.at("/vread/reads").asLong());
    assertEquals(111, json.at("/vread/bytes").asLong());
    assertEquals(1, json.at("/vread/failures").asLong());
    assertEquals(1, json.at("/vread/reasons").size());
    assertEquals(1, json.at("/vread/reasons/EBADE").asLong());
    assertEquals(3, json.at("/fallback/blocks").asLong());
    assertEquals(2, json.at("/fallback/reasons").size());
    assertEquals(2, json.at("/fallback/reasons/ENOENT").asLong());
    assertEquals(2, json.at("/compete/measured").asLong());
    assertEquals(1, json.at("/compete/failed").asLong());
    assertTrue(json.at("/hdfs/bytes").isNumber());
  }

  @Test
  public void emptyIsStillWhole() throws IOException {
    JsonNode json = new ObjectMapper().readTree(statistics.json());
    assertEquals(0, json.at("/vread/reasons").size());
    assertEquals(0, json.at("/fallback/reasons").size());
    assertEquals(0, json.at("/vread/bytes").asLong());
  }
}
