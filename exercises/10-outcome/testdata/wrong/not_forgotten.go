// Bug: a request that is given up keeps its count: the next event gets no retry.
package controller

func (d decision) limitRetries(retries, limit int) decision {
	if limit > 0 && retries >= limit && d.label == labelError && d.again == rateLimited {
		d.again, d.gaveUp = onlyWhenAdded, true
	}
	return d
}
