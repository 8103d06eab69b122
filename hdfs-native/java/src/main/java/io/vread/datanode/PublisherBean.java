// SPDX-License-Identifier: Apache-2.0
package io.vread.datanode;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import javax.management.Attribute;
import javax.management.AttributeList;
import javax.management.AttributeNotFoundException;
import javax.management.DynamicMBean;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The JMX bean {@code io.vread:type=Publisher}: the publisher's counters.
 * {@link VreadFsDatasetFactory} registers it. It is a dynamic bean, so that attributes have the
 * names of the events, and the reasons are one JSON text that every tool can show.
 */
final class PublisherBean implements DynamicMBean {
  private static final Logger LOG = LoggerFactory.getLogger(PublisherBean.class);
  private static final String NAME = "io.vread:type=Publisher";
  private static final int MOST_PER_JVM = 64;
  private static final List<String> NUMBERS =
      Arrays.asList("finalized", "append", "truncate", "delete", "pending", "failed");

  private final Publisher publisher;
  private ObjectName name;

  PublisherBean(Publisher publisher) {
    this.publisher = publisher;
  }

  /** Registers the bean. A second datanode in the JVM gets a name with {@code ,instance=2}. */
  void register() {
    MBeanServer server = ManagementFactory.getPlatformMBeanServer();
    try {
      for (int i = 1; name == null && i <= MOST_PER_JVM; i++) {
        ObjectName candidate = new ObjectName(i == 1 ? NAME : NAME + ",instance=" + i);
        try {
          server.registerMBean(this, candidate);
          name = candidate;
        } catch (InstanceAlreadyExistsException e) {
          LOG.debug("vread: {} is taken", candidate);
        }
      }
    } catch (JMException e) {
      LOG.warn("vread: no JMX bean {}: {}", NAME, e.toString());
    }
  }

  void unregister() {
    if (name != null) {
      try {
        ManagementFactory.getPlatformMBeanServer().unregisterMBean(name);
      } catch (JMException e) {
        LOG.debug("vread: unregistering {}", name, e);
      }
      name = null;
    }
  }

  @Override
  public Object getAttribute(String attribute) throws AttributeNotFoundException {
    PublisherStatistics statistics = publisher.statistics();
    switch (attribute) {
      case "finalized":
        return statistics.count(Event.FINALIZED);
      case "append":
        return statistics.count(Event.APPEND);
      case "truncate":
        return statistics.count(Event.TRUNCATE);
      case "delete":
        return statistics.count(Event.DELETE);
      case "pending":
        return (long) publisher.pending();
      case "failed":
        return statistics.failures();
      case "connected":
        return publisher.connected();
      case "reasons":
        return json(statistics.reasons());
      default:
        throw new AttributeNotFoundException(attribute);
    }
  }

  /** Escapes nothing: reasons are plain words. */
  private static String json(Map<String, Long> reasons) {
    List<String> members = new ArrayList<>();
    reasons.forEach((reason, count) -> members.add("\"" + reason + "\":" + count));
    return "{" + String.join(",", members) + "}";
  }

  @Override
  public AttributeList getAttributes(String[] attributes) {
    AttributeList result = new AttributeList();
    for (String attribute : attributes) {
      try {
        result.add(new Attribute(attribute, getAttribute(attribute)));
      } catch (AttributeNotFoundException e) {
        LOG.debug("vread: no attribute {}", attribute);
      }
    }
    return result;
  }

  @Override
  public void setAttribute(Attribute attribute) throws AttributeNotFoundException {
    throw new AttributeNotFoundException(attribute.getName() + " is read-only");
  }

  @Override
  public AttributeList setAttributes(AttributeList attributes) {
    return new AttributeList();
  }

  @Override
  public Object invoke(String action, Object[] parameters, String[] signature) {
    throw new UnsupportedOperationException(action);
  }

  @Override
  public MBeanInfo getMBeanInfo() {
    List<MBeanAttributeInfo> attributes = new ArrayList<>();
    for (String number : NUMBERS) {
      attributes.add(attribute(number, "long", "events or replicas: " + number));
    }
    attributes.add(attribute("connected", "boolean", "whether there is a backend"));
    attributes.add(attribute("reasons", "java.lang.String", "failures by reason, as JSON"));
    return new MBeanInfo(
        getClass().getName(),
        "Blocks published to vRead's backend",
        attributes.toArray(new MBeanAttributeInfo[0]),
        null,
        null,
        null);
  }

  private static MBeanAttributeInfo attribute(String name, String type, String description) {
    return new MBeanAttributeInfo(name, type, description, true, false, false);
  }
}
