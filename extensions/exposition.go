package extensions

import (
	"slices"

	"toa.io/toa/document"
	"toa.io/toa/internal/lazyregexp"
)

const (
	expositionPort      = 8000
	expositionReadyPort = 8004
	expositionDelay     = 3
)

var (
	urlPath   = lazyregexp.New(`^/\S*$`)
	webOrigin = lazyregexp.New(`^https?://\S+$`)
	safeWeb   = lazyregexp.New(`^https://\S+$`)
)

// exposition is the gateway that answers HTTP. It runs the components of
// identities inside itself.
func exposition(in Input) Declaration {
	if !in.stated("the hosts that are answered", "{authorities: {main: example.com}}") {
		return Declaration{}
	}
	s := in.service("exposition", "gateway")
	s.Image = "ghcr.io/toa-io/extension-exposition-gateway"
	s.Port = expositionPort
	s.Ingress = &Ingress{Path: "/"}
	// Routes are discovered later than the components inside are ready, so the
	// gateway answers for itself, beside the port that telemetry would take.
	s.Probe = &Probe{Path: readyPath, Port: expositionReadyPort, Delay: expositionDelay}
	tree := in.gateway(&s)
	if tree != nil {
		s.Variables = append(s.Variables, encoded("TOA_EXPOSITION", tree))
	}
	s.Variables = append(s.Variables,
		encoded("TOA_EXPOSITION_PROPERTIES", gatewayProperties(in.Annotation)),
		Variable{Name: "TOA_TELEMETRY_READY", Value: "false"})
	return Declaration{Services: []Service{s}}
}

// gateway reads the annotation into the service and returns the parsed routes,
// or nil if there are none.
func (in Input) gateway(s *Service) (tree *document.Value) {
	r := in.Reader
	in.read(r.Sub(document.Keys{
		"authorities": r.Each(func(string) document.Want { return in.host(s) }),
		"class":       r.Text(&s.Ingress.Class, document.Filled),
		"annotations": r.Nullable(in.notes(&s.Ingress.Annotations)),
		"service":     r.Sub(document.Keys{"annotations": in.notes(&s.Annotations)}),
		"resources":   resources(r, &s.Resources),
		"debug":       r.Boolean(new(bool)),
		"protocol":    r.Text(new(string), document.OneOf("h1", "h2c")),
		"ip":          r.Text(new(string), document.Filled),
		"bouncer":     r.Sub(document.Keys{"attempts": r.Integer(new(int), 1), "interval": r.Integer(new(int), 1)}),
		"censor": r.Sub(document.Keys{
			"header": r.Text(new(string), document.Filled), "values": r.List(r.Text(new(string))),
		}, "header", "values"),
		"oauth": in.oauth(),
		"rpc":   r.Sub(document.Keys{"batch": r.Integer(new(int), 1)}),
		"mcp":   in.mcp(s),
		"/":     {Take: func(v *document.Value) { tree = routes{r}.node(v) }},
	}, "authorities"))
	in.checkGateway()
	return tree
}

// host adds an authority's to those of the ingress.
func (in Input) host(s *Service) document.Want {
	var host string
	return in.Reader.Text(&host, document.OneWord).Then(func(*document.Value) {
		if host != "" && !slices.Contains(s.Ingress.Hosts, host) {
			s.Ingress.Hosts = append(s.Ingress.Hosts, host)
		}
		host = ""
	})
}

// notes are annotations of a Kubernetes object.
func (in Input) notes(target *map[string]string) document.Want {
	return in.Reader.Each(func(key string) document.Want {
		var note string
		return in.Reader.Text(&note).Then(func(*document.Value) {
			if *target == nil {
				*target = map[string]string{}
			}
			(*target)[key] = note
		})
	})
}

func (in Input) oauth() document.Want {
	r := in.Reader
	return r.Sub(document.Keys{
		"authorize":    r.Text(new(string), document.Matching(webOrigin, "an address of http or https")),
		"resources":    r.List(r.Text(new(string), document.Matching(urlPath, "a path that begins with a slash"))),
		"scopes":       r.List(r.Text(new(string), document.Filled)),
		"trust":        r.List(r.Text(new(string), document.Matching(safeWeb, "an address of https"))),
		"registration": r.Text(new(string), document.OneOf("open", "closed")),
	}, "authorize")
}

func (in Input) mcp(s *Service) document.Want {
	r := in.Reader
	return r.Sub(document.Keys{
		"name":         r.Text(new(string), document.Filled),
		"instructions": r.Text(new(string)),
		"origins":      r.List(r.Text(new(string), document.Matching(webOrigin, "an address of http or https"))),
		"anonymous":    r.Boolean(new(bool)),
		"hosts":        r.Each(func(string) document.Want { return in.host(s) }),
		"manifest":     r.Text(new(string), document.Matching(webOrigin, "an address of http or https")),
	}, "name")
}

// checkGateway looks at what keys say about each other.
func (in Input) checkGateway() {
	v, r := in.Annotation, in.Reader
	if f := v.Find("bouncer"); f != nil && v.Find("ip") == nil {
		r.Fail(f.At, "state `ip` in "+in.Key, "%s.bouncer: expected the header that holds addresses of clients to be stated as ip", in.Key)
	}
	authorities, mcp := v.Find("authorities"), v.Find("mcp")
	if authorities == nil || mcp == nil || mcp.Value.Find("hosts") == nil {
		return
	}
	for _, f := range mcp.Value.Find("hosts").Value.Fields {
		if authorities.Value.Find(f.Key) == nil {
			r.Fail(f.At, "state it under `authorities`", "%s.mcp.hosts: expected an authority, found %s", in.Key, document.Quote(f.Key))
		}
	}
}

func gatewayProperties(v *document.Value) *document.Value {
	properties := picked(v, "authorities", "debug", "protocol", "ip", "bouncer", "censor", "oauth", "rpc", "mcp")
	properties.Fields = slices.DeleteFunc(properties.Fields, func(f document.Field) bool {
		return f.Key == "debug" && refused(f.Value)
	})
	return properties
}
