package extensions

import (
	"slices"
	"strconv"
	"strings"

	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

const (
	readyPath = "/.ready"
	readyPort = 8001
)

// telemetry says how processes log, trace, measure, and answer when they are ready.
func telemetry(in Input) Declaration {
	var global []Variable
	ready := &Probe{Path: readyPath, Port: readyPort}
	in.read(in.Reader.Sub(document.Keys{
		"logs":    in.logs(&global),
		"traces":  in.traces().Then(in.signal(&global, "TOA_TELEMETRY_TRACES", "sample", "rate", "exporters")),
		"metrics": in.metrics().Then(in.signal(&global, "TOA_TELEMETRY_METRICS", "interval", "exporters")),
		"ready":   in.ready(&ready),
	}))
	return Declaration{
		Variables: map[string][]Variable{Global: append(sorted(global), readiness(ready))},
		Probe:     ready,
	}
}

// sorted makes the order of variables independent of that of the keys.
func sorted(variables []Variable) []Variable {
	slices.SortStableFunc(variables, func(a, b Variable) int { return strings.Compare(a.Name, b.Name) })
	return variables
}

func readiness(ready *Probe) Variable {
	const name = "TOA_TELEMETRY_READY"
	if ready.Off {
		return encoded(name, boolean(false))
	}
	return encoded(name, object(
		field("enabled", boolean(true)), field("path", text(ready.Path)), field("port", number(ready.Port))))
}

func (in Input) ready(target **Probe) document.Want {
	r, on := in.Reader, true
	off := r.Boolean(&on).Then(func(v *document.Value) {
		if v.Kind == document.Boolean && on {
			r.Expected(v, "leave it out: that is the default", "false, or a path and a port")
		}
		*target = &Probe{Off: true}
	})
	return r.Either(off, document.Keys{
		"path": r.Text(&(*target).Path, document.Matching(urlPath, "a path that begins with a slash")),
		"port": r.Integer(&(*target).Port, 1),
	})
}

func (in Input) signal(target *[]Variable, name string, keys ...string) func(*document.Value) {
	return func(v *document.Value) {
		if v.Kind == document.Object {
			*target = append(*target, encoded(name, picked(v, keys...)))
		}
	}
}

func (in Input) traces() document.Want {
	return in.Reader.Sub(document.Keys{
		"sample":    in.decimal("a number from 0 to 1", func(n float64) bool { return n >= 0 && n <= 1 }),
		"rate":      in.decimal("a number above 0", func(n float64) bool { return n > 0 }),
		"exporters": in.exporters(),
	})
}

func (in Input) metrics() document.Want {
	return in.Reader.Sub(document.Keys{
		"interval":  in.Reader.Integer(new(int), 1),
		"exporters": in.exporters(),
	})
}

// exporters are open: what each takes is its own. That of OTLP needs to know
// where to send.
func (in Input) exporters() document.Want {
	r := in.Reader
	otlp := r.Open(document.Keys{"endpoint": r.Text(new(string), webAddress)}, "endpoint")
	return r.Each(func(key string) document.Want {
		if key == "otlp" {
			return otlp
		}
		return r.Nullable(r.Some("an object or null", document.Object, document.Boolean))
	})
}

func (in Input) decimal(what string, fits func(float64) bool) document.Want {
	r := in.Reader
	return r.Some(what, document.Integer, document.Float).Then(func(v *document.Value) {
		n, err := strconv.ParseFloat(v.Text, 64)
		if v.Kind != document.Integer && v.Kind != document.Float {
			return // reported
		}
		if err != nil || !fits(n) {
			r.Fail(v.At, "", "%s: expected %s, found %s", r.Where(), what, document.Quote(v.Text))
		}
	})
}

// logs are those of everyone, and of components that differ, by ID.
func (in Input) logs(target *[]Variable) document.Want {
	level := document.Keys{
		"level":     in.Reader.Text(new(string), document.OneOf("trace", "debug", "info", "warn", "error", "fatal")),
		"exporters": in.exporters(),
	}
	one := in.Reader.Sub(level)
	return in.Reader.Each(func(key string) document.Want {
		if want, known := level[key]; known {
			return want
		}
		return one.Then(func(*document.Value) { in.checkComponent(key, "level", "exporters") })
	}).Then(func(v *document.Value) {
		if v.Kind == document.Object {
			*target = append(*target, logVariables(v)...)
		}
	})
}

func logVariables(v *document.Value) []Variable {
	const name = "TOA_TELEMETRY_LOGS"
	all := picked(v, "level", "exporters")
	var variables []Variable
	if len(all.Fields) > 0 {
		variables = append(variables, encoded(name, all))
	}
	for _, f := range v.Fields {
		if f.Key == "level" || f.Key == "exporters" || f.Value.Kind != document.Object {
			continue
		}
		of := strings.ToUpper(underscores.Replace(workspace.CompleteID(f.Key)))
		variables = append(variables, encoded(name+"_"+of, overlaid(all, f.Value)))
	}
	return variables
}

// overlaid has the fields of both; those of over win.
func overlaid(under, over *document.Value) *document.Value {
	merged := object(slices.Clone(under.Fields)...)
	for _, f := range over.Fields {
		if same := merged.Find(f.Key); same != nil {
			same.Value = f.Value
		} else {
			merged.Fields = append(merged.Fields, f)
		}
	}
	return merged
}

// checkComponent reports a key that is no component's ID. Others are keys that
// could have been meant instead.
func (in Input) checkComponent(key string, others ...string) {
	id := workspace.CompleteID(key)
	if slices.ContainsFunc(in.All, func(i Instance) bool { return i.ID == id }) {
		return
	}
	var names []string
	for _, i := range in.All {
		names = append(names, strings.TrimPrefix(i.ID, workspace.DefaultNamespace+"."))
	}
	slices.Sort(names)
	fix := "no component does"
	if near := document.Nearest(key, append(others, names...)); near != "" {
		fix = "did you mean " + document.Quote(near) + "?"
	} else if len(names) > 0 {
		fix = "such components are: " + abridged(names)
	}
	in.Reader.Fail(in.Reader.Key(), fix, "%s: expected a component that uses %s, found %s", in.Reader.Where(), in.Key, document.Quote(key))
}
