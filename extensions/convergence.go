package extensions

import (
	"strconv"

	"toa.io/toa/document"
)

// convergence makes a deployment one of several regions, which exchange what
// changes over brokers of their own.
func convergence(in Input) Declaration {
	if !in.stated("the region that this deployment is", "{priority: 0, binding: {pointer: amqp://host}}") {
		return Declaration{}
	}
	var p Pointer
	priority, provider := 0, "amqp"
	in.read(in.Reader.Sub(document.Keys{
		"priority": in.Reader.Integer(&priority, 0),
		"binding": in.Reader.Sub(document.Keys{
			"provider": in.Reader.Text(&provider, document.OneOf("amqp", "@toa.io/bindings.amqp")),
			"pointer":  addressList(in.Reader, &p, "brokers"),
		}, "pointer"),
	}, "priority", "binding"))
	global, _ := p.variables("convergence", "brokers") // without an address it was reported
	return Declaration{Variables: map[string][]Variable{Global: append(global,
		Variable{Name: "TOA_REGION", Value: strconv.Itoa(priority)},
		Variable{Name: "TOA_CONVERGENCE_BINDING", Value: "@toa.io/bindings.amqp"},
	)}}
}
