package workqueue

// alarmCauses are the causes of an alarm in 16 bytes instead of 64. A queue may hold a million
// alarms, and most of them have no reason.
type alarmCauses struct {
	count   int
	reasons *Causes // nil if there are none; its own Count does not count
}

// set forgets what was there before.
func (c *alarmCauses) set(causes Causes) {
	*c = alarmCauses{}
	c.merge(causes)
}

// merge adds the causes of a later request.
func (c *alarmCauses) merge(later Causes) {
	c.count += later.Count
	if later.first.text == "" {
		return
	}
	if c.reasons == nil {
		c.reasons = &Causes{}
	}
	c.reasons.merge(later)
}

// all returns them as a worker gets them.
func (c *alarmCauses) all() (causes Causes) {
	if c.reasons != nil {
		causes = *c.reasons
	}
	causes.Count = c.count
	return causes
}
