package workspace

import "toa.io/toa/document"

// deliveryKeys are those of how calls and events get where they belong.
func (r *reader) deliveryKeys(c *Context) document.Keys {
	return document.Keys{
		"atomicity": r.atomicity(&c.Atomicity).About("where locks are kept"),
		"outbox": r.Sub(document.Keys{
			"interval":  r.stated(&c.Outbox.Interval, 100).About("how often events are delivered"),
			"batch":     r.stated(&c.Outbox.Batch, 1).About("how many events are delivered at once"),
			"retention": r.stated(&c.Outbox.Retention, 0).About("how long delivered events are kept"),
		}).About("how events are sent"),
		"inbox": r.Sub(document.Keys{
			"retention": r.stated(&c.Inbox.Retention, 600).About("how long to remember what was received"),
		}).About("how events are received"),
		"addressed": r.Sub(document.Keys{
			"timeout": r.stated(&c.Addressed.Timeout, 0).About("milliseconds to wait for an answer"),
		}).About("calls to a certain process"),
		"events": r.events(&c.Events).About("events that something outside consumes, as namespace.component.event"),
	}
}

// stated reads a number that has no default of ours.
func (r *reader) stated(target **int, least int) document.Want {
	return document.Optional(target, func(n *int) document.Want { return r.Integer(n, least) })
}

func (r *reader) atomicity(target **Atomicity) document.Want {
	return document.Optional(target, func(x *Atomicity) document.Want {
		return r.Sub(document.Keys{
			"redis":    r.odd(&x.Redis).About("an odd number of addresses"),
			"interval": r.stated(&x.Interval, 100).About("how often a lock is tried"),
		}, "redis")
	})
}

// odd reads one address or several, of which a majority must be possible.
func (r *reader) odd(target *[]string) document.Want {
	one := r.address(target)
	return document.Choose(r.List(one), one, document.List).Then(func(v *document.Value) {
		if n := len(v.Items); n > 0 && n%2 == 0 {
			r.Fail(v.At, "add one or remove one", "%s: expected an odd number of addresses, found %d", r.Where(), n)
		}
	})
}

// address reads what may carry a password, and thus never shows it.
func (r *reader) address(target *[]string) document.Want {
	some := r.Some("text", document.Text)
	return some.Then(func(v *document.Value) {
		switch {
		case v.Kind != document.Text:
		case document.OneWord.Expects(v.Text) != "" || !document.Harmless(v.Text):
			r.Fail(v.At, "", "%s: expected an address without spaces", r.Where())
		default:
			*target = append(*target, v.Text)
		}
	})
}

// events reads full names of events; the default namespace may be left out.
func (r *reader) events(target *[]string) document.Want {
	var names []string
	return r.Texts(&names, document.Matching(eventName, "namespace.component.event")).Then(func(*document.Value) {
		for _, name := range names {
			*target = append(*target, completeEvent(name))
		}
	})
}
