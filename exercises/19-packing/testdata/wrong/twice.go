// Bug: an address that is there twice gets two seats.
package endpoints

import corev1 "k8s.io/api/core/v1"

func (c *column) with(port *corev1.EndpointPort, at seat) *column {
	if c == nil {
		c = &column{port: port}
	}
	c.seats = append(c.seats, at)
	return c
}
