// SPDX-License-Identifier: Apache-2.0
package io.vread;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import org.junit.Test;

/** The names and signs of {@link Errno}. */
public class ErrnoTest {
  /** Every constant of Errno is negative, as libvread returns errors, and has its own name. */
  @Test
  public void namesAndSigns() throws Exception {
    int errors = 0;
    for (Field field : Errno.class.getDeclaredFields()) {
      if (field.getType() == int.class && Modifier.isStatic(field.getModifiers())) {
        int errno = field.getInt(null);
        assertTrue(field.getName(), errno < 0);
        assertEquals(field.getName(), Errno.name(errno));
        errors++;
      }
    }
    assertTrue("" + errors, errors > 20);
    assertEquals("errno-4095", Errno.name(-4095));
  }
}
