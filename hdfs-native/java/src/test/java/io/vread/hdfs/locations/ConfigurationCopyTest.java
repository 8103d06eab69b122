// SPDX-License-Identifier: Apache-2.0
package io.vread.hdfs.locations;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertNull;
import static org.junit.Assert.assertSame;

import java.net.URL;
import java.net.URLClassLoader;
import java.util.Iterator;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.junit.Test;

/** That {@link ConfigurationCopy} answers as its original. */
public class ConfigurationCopyTest {
  /** Holds nothing but the defaults of Hadoop, and answers by another configuration. */
  private static final class Wrapper extends Configuration {
    private final Configuration inner;

    Wrapper(Configuration inner) {
      this.inner = inner;
    }

    @Override
    public String getRaw(String name) {
      return inner.getRaw(name);
    }

    @Override
    public Iterator<Map.Entry<String, String>> iterator() {
      return inner.iterator();
    }

    @Override
    public ClassLoader getClassLoader() {
      return inner == null ? null : inner.getClassLoader();
    }
  }

  @Test
  public void aConfigurationOfHadoops() {
    Configuration conf = new Configuration(false);
    conf.set("a", "1");
    conf.set("b", "${a}2");
    Configuration copy = new ConfigurationCopy(conf);
    assertEquals("12", copy.get("b"));
    copy.set("a", "3");
    assertEquals("the original is left alone", "1", conf.get("a"));
  }

  @Test
  public void aConfigurationThatAnswersByAnother() {
    Configuration inner = new Configuration(false);
    inner.set("a", "1");
    inner.set("b", "${a}2");
    inner.set("dfs.blocksize", "7");
    inner.setClassLoader(new URLClassLoader(new URL[0]));
    Configuration wrapper = new Wrapper(inner);
    Configuration copy = new ConfigurationCopy(wrapper);
    assertEquals("12", copy.get("b"));
    assertEquals("7", copy.get("dfs.blocksize"));
    assertSame(inner.getClassLoader(), copy.getClassLoader());
    assertNull("a default that the original lacks", copy.get("fs.defaultFS"));
    assertEquals(3, copy.size());
  }

  @Test
  public void anEmptyOne() {
    Configuration copy = new ConfigurationCopy(new Wrapper(new Configuration(false)));
    assertEquals(0, copy.size());
  }
}
