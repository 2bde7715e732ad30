package workspace

import (
	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
)

var quantity = document.Matching(
	lazyregexp.New(`^[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+|m|k|Ki|Mi|Gi|Ti|Pi|Ei|M|G|T|P|E)?$`),
	"a quantity such as 100m or 256Mi",
)

// resources reads requests and limits; null says that there are none.
func (r *reader) resources(target **Resources) document.Want {
	stated := document.Optional(target, func(x *Resources) document.Want {
		return r.Sub(document.Keys{
			"cpu":    r.pair(&x.CPU).About("request and limit of CPU"),
			"memory": r.pair(&x.Memory).About("request and limit of memory"),
		})
	})
	return document.OrNull(stated, func() { *target = &Resources{None: true} })
}

// pair reads a request and a limit.
func (r *reader) pair(target **[2]string) document.Want {
	var texts []string
	var text string
	item := r.Text(&text, quantity)
	list := r.List(item.Then(func(*document.Value) { texts = append(texts, text) }))
	return document.Want{
		Take: func(v *document.Value) {
			list.Take(v)
			switch {
			case v.Kind != document.List || len(v.Items) == 0:
			case len(v.Items) != 2:
				r.Expected(v, "state both: [request, limit]", "a list of two, a request and a limit")
			default:
				*target = &[2]string{texts[0], texts[1]}
			}
		},
		Schema: func() *document.Schema {
			schema := list.Describe()
			schema.MinItems, schema.MaxItems = 2, 2
			return schema
		},
	}
}
