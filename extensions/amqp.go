package extensions

import (
	"slices"

	"toa.io/toa/document"
)

const (
	amqpContext = "amqp-context"
	amqpSources = "amqp-sources"
)

// amqp tells everyone which brokers are the context's own, and components that
// receive from elsewhere which ones these are.
func amqp(in Input) Declaration {
	if !in.stated("an address of a broker", "amqp://host") {
		return Declaration{}
	}
	var context, sources Pointer
	whole := addressList(in.Reader, &context, anywhere)
	in.read(document.Choose(in.Reader.Sub(document.Keys{
		"context": addressed(in.Reader, &context),
		"sources": addressed(in.Reader, &sources),
	}, "context"), whole, document.Object))
	variables := map[string][]Variable{Global: brokers(context)}
	in.sources(sources, variables)
	return Declaration{Variables: variables}
}

// brokers are the context's: everyone may reach everyone, so all of them are
// given to all.
func brokers(context Pointer) []Variable {
	variables := []Variable{encoded(variableName(amqpContext), context.value())}
	for _, e := range context.entries {
		suffix := e.key
		if e.key == anywhere {
			suffix = ""
		}
		variables = append(variables, credentials(variableName(amqpContext, suffix), secretName(amqpContext, e.key))...)
	}
	return variables
}

func (in Input) sources(p Pointer, variables map[string][]Variable) {
	var lost []string
	for _, i := range in.Instances {
		for _, source := range i.sources() {
			found, ok := p.variables(amqpSources, source)
			if !ok {
				lost = append(lost, source+" (a source of "+i.ID+")")
				continue
			}
			variables[i.Label] = append(variables[i.Label], found...)
		}
	}
	if len(lost) > 0 && len(in.Reader.Errors()) == 0 {
		in.Reader.Under("amqp.sources", func() {
			in.Reader.Fail(in.Annotation.At, "state it under `amqp.sources`",
				"%s: expected an address for %s", in.Reader.Where(), abridged(lost))
		})
	}
}

// sources are the foreign brokers that a component receives from.
func (c *Component) sources() []string {
	var names []string
	for _, r := range c.Receivers {
		if r.Source != "" {
			names = append(names, r.Source)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
