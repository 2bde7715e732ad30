package extensions

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
	"toa.io/toa/workspace"
)

// originProtocols are grouped: addresses of one origin belong to one group.
var originProtocols = map[string]string{
	"http": "http", "https": "http", "amqp": "amqp", "amqps": "amqp", "pubsub": "pubsub",
}

var originName = lazyregexp.New(`^[a-zA-Z0-9]{1,32}$`)

// origins is extensions.origins, which old releases have: addresses outside of
// the context, by component.
func origins(in Input) Declaration {
	stated, properties := map[string]Pointer{}, map[string]*document.Value{}
	in.read(in.Reader.Each(func(key string) document.Want {
		id := workspace.CompleteID(key)
		p := stated[id]
		return in.Reader.Each(func(name string) document.Want {
			return in.origin(&p, name, func(v *document.Value) { properties[id] = v })
		}).Then(func(*document.Value) {
			in.checkComponent(key)
			stated[id] = p
		})
	}))
	variables := map[string][]Variable{}
	for _, i := range in.Instances {
		variables[i.Label] = in.originVariables(i, stated[i.ID], properties[i.ID])
	}
	return Declaration{Variables: variables}
}

// origin reads the addresses of one, or the properties of all that are HTTP.
func (in Input) origin(p *Pointer, name string, properties func(*document.Value)) document.Want {
	if name == ".http" {
		return in.Reader.Each(func(string) document.Want { return in.Reader.Boolean(new(bool)) }).Then(properties)
	}
	return addressList(in.Reader, p, name).Then(func(v *document.Value) {
		if !originName.MatchString(name) {
			in.Reader.Fail(in.Reader.Key(), "", "%s: expected a name of letters and digits, found %s", in.Reader.Where(), document.Quote(name))
			return
		}
		if e, found := p.find(name); found {
			in.checkProtocols(v, e)
		}
	})
}

func (in Input) checkProtocols(v *document.Value, e pointerEntry) {
	group := originProtocols[scheme(e.addresses[0])]
	for _, one := range e.addresses {
		if of := originProtocols[scheme(one)]; of == "" || of != group {
			in.Reader.Fail(v.At, "", "%s: expected addresses of one protocol among http, amqp and pubsub", in.Reader.Where())
			return
		}
	}
}

func (in Input) originVariables(i Instance, stated Pointer, properties *document.Value) []Variable {
	var variables []Variable
	for _, name := range named(i.Declaration) {
		p := stated
		if own := member(i.Declaration, name); own != nil && own.Kind == document.Text {
			p.entries = append(slices.Clone(p.entries), pointerEntry{name, []string{own.Text}})
		}
		e, found := p.find(name)
		if !found {
			i.fail(in.Reader, "state it under `"+in.Key+"` of the context", "expected an address for the origin "+document.Quote(name))
			continue
		}
		variables = append(variables, originVariable(i.Label, Pointer{[]pointerEntry{e}}, name)...)
	}
	return append(variables, Variable{
		Name:  "TOA_ORIGINS_" + i.variable() + "__PROPERTIES",
		Value: base64.StdEncoding.EncodeToString(packed(properties)),
	})
}

// originVariable has the key of a service account instead of user and password
// where it is Pub/Sub.
func originVariable(label string, p Pointer, name string) []Variable {
	variables, _ := p.variables("origins-"+label, name)
	u, err := url.Parse(p.entries[0].addresses[0])
	if err != nil || u.Scheme != "pubsub" {
		return variables
	}
	project := ""
	if parts := strings.Split(u.Path, "/"); len(parts) > 2 {
		project = parts[2]
	}
	return append(variables[:1], Variable{
		Name:   variableName("ORIGINS_PUBSUB_", project),
		Secret: &Secret{Name: "toa-origins-pubsub", Key: project, Optional: true},
	})
}

// packed is {".http": properties} as MessagePack, which is what old releases
// read. Properties are booleans.
func packed(properties *document.Value) []byte {
	if properties == nil {
		return []byte{0x80}
	}
	out := append([]byte{0x81}, packedText(".http")...)
	out = append(out, 0xde, byte(len(properties.Fields)>>8), byte(len(properties.Fields)))
	for _, f := range properties.Fields {
		out = append(out, packedText(f.Key)...)
		if refused(f.Value) {
			out = append(out, 0xc2)
		} else {
			out = append(out, 0xc3)
		}
	}
	return out
}

func packedText(s string) []byte {
	if len(s) < 32 {
		return append([]byte{0xa0 | byte(len(s))}, s...)
	}
	return append([]byte{0xda, byte(len(s) >> 8), byte(len(s))}, s...)
}
