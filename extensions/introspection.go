package extensions

import (
	"strconv"

	"toa.io/toa/document"
)

const (
	introspectionPath = "/.introspection"
	introspectionPort = 8002
)

// introspection draws a map of what calls what, and shows it in a service of
// its own unless the context says false.
func introspection(in Input) Declaration {
	if refused(in.Annotation) {
		return Declaration{}
	}
	o := explorer{interval: 300, threshold: 1024, ui: true, duration: [2]int{30, 3600}, quiescence: [2]int{30, 1800}}
	s := in.service("introspection", "explorer")
	s.Image = "ghcr.io/toa-io/extension-introspection-explorer"
	in.read(in.Reader.Sub(document.Keys{
		"interval":  in.Reader.Integer(&o.interval, 1),
		"threshold": in.Reader.Integer(&o.threshold, 1),
		"ui":        in.Reader.Boolean(&o.ui),
		"halt":      in.halt(&o),
		"resources": resources(in.Reader, &s.Resources),
	}))
	if o.ui {
		s.Port, s.Ingress = introspectionPort, &Ingress{Path: introspectionPath}
	}
	// The variable comes with the service only: what is reported has to be read.
	return Declaration{
		Services:  []Service{s},
		Variables: map[string][]Variable{Global: {encoded("TOA_INTROSPECTION", o.value())}},
	}
}

// refused tells that an annotation is the word false.
func refused(v *document.Value) bool {
	return v != nil && v.Kind == document.Boolean && (v.Text == "false" || v.Text == "False" || v.Text == "FALSE")
}

type explorer struct {
	interval, threshold  int
	ui, halt             bool
	duration, quiescence [2]int // seconds that a halt may ask for
}

func (o explorer) value() *document.Value {
	return object(
		field("interval", number(o.interval)), field("threshold", number(o.threshold)),
		field("ui", boolean(o.ui)), field("halt", boolean(o.halt)),
		field("duration", numbers(o.duration)), field("quiescence", numbers(o.quiescence)),
	)
}

func numbers(bounds [2]int) *document.Value { return list(number(bounds[0]), number(bounds[1])) }

func (in Input) halt(o *explorer) document.Want {
	return in.Reader.Either(in.Reader.Boolean(&o.halt), document.Keys{
		"duration": in.bounds(&o.duration), "quiescence": in.bounds(&o.quiescence),
	}).Then(func(v *document.Value) {
		if v.Kind == document.Object {
			o.halt = true
		}
	})
}

// bounds reads the least and the most seconds.
func (in Input) bounds(target *[2]int) document.Want {
	r := in.Reader
	return r.List(r.Integer(new(int), 0)).Then(func(v *document.Value) {
		if v.Kind != document.List || len(v.Items) == 0 {
			return // reported
		}
		if len(v.Items) != 2 {
			r.Expected(v, "", "a list of two, the least and the most")
			return
		}
		least, _ := strconv.Atoi(v.Items[0].Text) // what is no number was reported
		most, _ := strconv.Atoi(v.Items[1].Text)
		if least >= most {
			r.Fail(v.At, "", "%s: expected the smaller number first, found [%d, %d]", r.Where(), least, most)
		}
		*target = [2]int{least, most}
	})
}
