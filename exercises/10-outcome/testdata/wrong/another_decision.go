// Bug: the priority and the warning are lost when a request is given up.
package controller

func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && retries >= limit && d.label == labelError && d.again == rateLimited {
		return decision{label: d.label, forget: true, gaveUp: true}
	}
	return d
}
