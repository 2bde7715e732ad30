package extensions

import "toa.io/toa/document"

// addressed reads an annotation of addresses: text, a list, or an object of
// these by selector.
func addressed(r *document.Reader, target *Pointer) document.Want {
	whole := addressList(r, target, anywhere)
	return document.Choose(addressMap(r, target), whole, document.Object)
}

func addressMap(r *document.Reader, target *Pointer) document.Want {
	return r.Each(func(key string) document.Want {
		list := addressList(r, target, key)
		return document.Want{Schema: list.Schema, Take: func(v *document.Value) {
			if key != anywhere && !pointerKey.MatchString(key) {
				r.Fail(r.Key(), "", "%s: expected a selector such as namespace.component, or a dot, found %s", r.Where(), document.Quote(key))
				return
			}
			list.Take(v)
		}}
	})
}

// addressList reads one address or several, with ranges, for key.
func addressList(r *document.Reader, target *Pointer, key string) document.Want {
	var all []string
	var text string
	one := r.Text(&text, harmlessAddress).Then(func(*document.Value) {
		if text != "" {
			some, _ := spread(text) // checked
			all = append(all, some...)
		}
		text = ""
	})
	return document.Choose(r.List(one), one, document.List).Then(func(*document.Value) {
		if len(all) > 0 {
			target.entries = append(target.entries, pointerEntry{key: key, addresses: all})
		}
		all = nil
	})
}

// harmlessAddress is the rule for what may stand in an annotation.
var harmlessAddress = document.Rule(func(text string) string {
	all, err := spread(text)
	if err != nil {
		return err.Error()
	}
	for _, one := range all {
		if expected := address(one); expected != "" {
			return expected
		}
	}
	return ""
})

// value is the pointer as an object of lists.
func (p Pointer) value() *document.Value {
	v := &document.Value{Kind: document.Object}
	for _, e := range p.entries {
		v.Fields = append(v.Fields, document.Field{Key: e.key, Value: texts(e.addresses)})
	}
	return v
}

// pointed gives every instance the addresses that its ID resolves to.
func pointed(in Input, id string) Declaration {
	var p Pointer
	in.read(addressed(in.Reader, &p))
	variables := map[string][]Variable{}
	var lost []string
	for _, i := range in.Instances {
		found, ok := p.variables(id, i.ID)
		if !ok {
			lost = append(lost, i.called())
			continue
		}
		variables[i.Label] = found
	}
	in.unresolved(lost)
	return Declaration{Variables: variables}
}

// unresolved reports selectors without an address, unless something is wrong
// with the annotation anyway.
func (in Input) unresolved(selectors []string) {
	if len(selectors) == 0 || len(in.Reader.Errors()) > 0 {
		return
	}
	at := document.Place{}
	if in.Annotation != nil {
		at = in.Annotation.At
	}
	in.Reader.Fail(at, "state one for each, for their namespaces, or for all: `"+in.Key+": <address>`",
		"%s: expected an address for %s", in.Key, abridged(selectors))
}
