package extensions

import (
	"strings"

	"toa.io/toa/document"
)

// http tells everyone at which address components answer that do not answer
// at their own Service. Those listen on componentPort.
func http(in Input) Declaration {
	addresses := object()
	in.read(document.Choose(in.Reader.Each(func(key string) document.Want {
		return in.url(key, addresses)
	}), in.url(anywhere, addresses), document.Object))
	return Declaration{Variables: map[string][]Variable{Global: {encoded("TOA_HTTP", addresses)}}}
}

// url reads one address for key.
func (in Input) url(key string, target *document.Value) document.Want {
	var address string
	return in.Reader.Text(&address, webAddress).Then(func(*document.Value) {
		if key != anywhere && !pointerKey.MatchString(key) {
			in.Reader.Fail(in.Reader.Key(), "", "%s: expected a selector such as namespace.component, or a dot, found %s", in.Reader.Where(), document.Quote(key))
			return
		}
		if address != "" {
			target.Fields = append(target.Fields, field(key, text(address)))
		}
	})
}

// webAddress is an address of HTTP without user and password.
var webAddress = document.Rule(func(text string) string {
	if expected := address(text); expected != "" {
		return strings.Replace(expected, "amqp://", "http://", 1)
	}
	if s := scheme(text); s != "http" && s != "https" {
		return "an address of http or https"
	}
	return ""
})
