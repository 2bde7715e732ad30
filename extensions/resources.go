package extensions

import (
	"slices"

	"toa.io/toa/document"
)

// resources reads what a service may take. Null is an answer: nothing is
// stated then, and nothing is asked of the context.
func resources(r *document.Reader, target **Resources) document.Want {
	stated := document.Optional(target, func(some *Resources) document.Want {
		return r.Sub(document.Keys{"cpu": pair(r, &some.CPU), "memory": pair(r, &some.Memory)})
	})
	return document.Choose(nothing(target), stated, document.Null)
}

func nothing(target **Resources) document.Want {
	return document.Want{
		Take:   func(*document.Value) { *target = &Resources{} },
		Schema: func() *document.Schema { return &document.Schema{Type: document.Types{"null"}} },
	}
}

func pair(r *document.Reader, target **[2]string) document.Want {
	var both []string
	var one string
	item := r.Text(&one, document.Rule(func(text string) string {
		if _, ok := amount(text); !ok {
			return "an amount such as 100m or 512Mi"
		}
		return ""
	}))
	return r.List(item.Then(func(*document.Value) { both = append(both, one) })).Then(func(v *document.Value) {
		if v.Kind == document.List && len(v.Items) != 2 && len(v.Items) != 0 {
			r.Expected(v, "state both: [request, limit]", "a list of two, a request and a limit")
		}
		if len(both) == 2 {
			*target = &[2]string{both[0], both[1]}
		}
	})
}

const nodeOptions = "NODE_OPTIONS"

// limitHeap tells Node how much memory there is: it does not look at limits
// itself and would be killed instead of collecting. What is stated wins.
func (u *Unit) limitHeap() (expected string) {
	if u.Resources == nil || u.Resources.Memory == nil {
		return ""
	}
	if slices.ContainsFunc(u.Variables, func(v Variable) bool { return v.Name == nodeOptions }) {
		return ""
	}
	mebibytes, ok := heap(u.Resources.Memory[1])
	switch {
	case !ok:
		return "an amount of memory such as 512Mi, found " + document.Quote(u.Resources.Memory[1])
	case mebibytes > 0:
		u.Variables = append(u.Variables, Variable{Name: nodeOptions, Value: "--max-old-space-size=" + number(int(mebibytes)).Text})
	}
	return ""
}
