package extensions

import (
	"strconv"
	"strings"

	"toa.io/toa/workspace"
)

// settings are the variables that come from the context's own keys, around
// those of packages.
func settings(ws *workspace.Workspace, packages []Variable) []Variable {
	global := append([]Variable{
		{Name: "TOA_CONTEXT", Value: ws.Context.Name},
		{Name: "TOA_ENV", Value: ws.Environment},
	}, packages...)
	c := ws.Context
	if c.Atomicity != nil {
		if len(c.Atomicity.Redis) > 0 {
			global = append(global, Variable{Name: "TOA_ATOMICITY_REDIS", Value: strings.Join(c.Atomicity.Redis, " ")})
		}
		global = stated(global, "TOA_ATOMICITY_INTERVAL", c.Atomicity.Interval)
	}
	global = stated(global, "TOA_OUTBOX_INTERVAL", c.Outbox.Interval)
	global = stated(global, "TOA_OUTBOX_BATCH", c.Outbox.Batch)
	global = stated(global, "TOA_OUTBOX_RETENTION", c.Outbox.Retention)
	global = stated(global, "TOA_INBOX_RETENTION", c.Inbox.Retention)
	return stated(global, "TOA_ADDRESSED_TIMEOUT", c.Addressed.Timeout)
}

func stated(to []Variable, name string, n *int) []Variable {
	if n == nil {
		return to
	}
	return append(to, Variable{Name: name, Value: strconv.Itoa(*n)})
}
