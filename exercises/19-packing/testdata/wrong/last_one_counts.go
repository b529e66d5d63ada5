// Bug: of an address that is there ready and not ready, the last one counts.
package endpoints

import corev1 "k8s.io/api/core/v1"

func (c *column) with(port *corev1.EndpointPort, at seat) *column {
	if c == nil {
		c = &column{port: port}
	}
	if n := len(c.seats); n > 0 && c.seats[n-1].address == at.address {
		c.seats[n-1] = at
		return c
	}
	c.seats = append(c.seats, at)
	return c
}
