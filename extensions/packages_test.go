package extensions

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"toa.io/toa/document"
	"toa.io/toa/workspace"
)

// use is a component that uses the package under test.
type use struct {
	id, declaration string
	sources         []string
	evicted         bool
}

func (u use) instance(t *testing.T) Instance {
	namespace, name, _ := strings.Cut(u.id, ".")
	c := &Component{ID: u.id, Namespace: namespace, Name: name, Label: workspace.Label(namespace, name), Evicted: u.evicted}
	for _, source := range u.sources {
		c.Receivers = append(c.Receivers, Receiver{Event: "a.b.c", Source: source})
	}
	return Instance{
		Component: c, Declaration: parsed(t, u.declaration),
		Position: document.Position{File: u.id + "/" + workspace.ManifestFile, Line: 1, Column: 1},
	}
}

func parsed(t *testing.T, yaml string) *document.Value {
	t.Helper()
	if yaml == "" {
		return nil
	}
	r := document.NewReader(workspace.ContextFile)
	root := r.Parse([]byte("it: " + yaml))
	if len(r.Errors()) > 0 {
		t.Fatalf("%s: %v", yaml, r.Errors()[0])
	}
	return root.Find("it").Value
}

// asked is what a package answers, and its mistakes.
func asked(t *testing.T, reference, annotation string, uses ...use) (Declaration, []string) {
	t.Helper()
	in := Input{
		Reader: document.NewReader(workspace.ContextFile), Package: reference, Key: table[reference].key,
		Annotation: parsed(t, annotation), Context: &workspace.Context{Runtime: workspace.Runtime{Version: "1.0.0"}},
	}
	for _, u := range uses {
		i := u.instance(t)
		in.All = append(in.All, i)
		if !u.evicted {
			in.Instances = append(in.Instances, i)
		}
	}
	d := table[reference].declare(in)
	var mistakes []string
	for _, e := range in.Reader.Errors() {
		mistakes = append(mistakes, e.Error())
	}
	return d, mistakes
}

// told is a declaration as lines.
func told(d Declaration) []string {
	var lines []string
	for _, key := range slices.Sorted(maps.Keys(d.Variables)) {
		for _, v := range d.Variables[key] {
			lines = append(lines, key+" "+toldVariable(v))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(d.Mounts)) {
		for _, m := range d.Mounts[key] {
			lines = append(lines, fmt.Sprintf("%s mounts %s at %s from %s", key, m.Name, m.Path, m.Claim))
		}
	}
	for _, s := range d.Services {
		lines = append(lines, toldService(s)...)
	}
	for _, event := range d.Events {
		lines = append(lines, "consumes "+event)
	}
	if d.Probe != nil {
		lines = append(lines, fmt.Sprintf("probe %+v", *d.Probe))
	}
	for _, key := range slices.Sorted(maps.Keys(d.Installs)) {
		for _, name := range slices.Sorted(maps.Keys(d.Installs[key])) {
			lines = append(lines, key+" installs "+name)
		}
	}
	return lines
}

func toldVariable(v Variable) string {
	if v.Secret == nil {
		return v.Name + "=" + v.Value
	}
	optional := ""
	if v.Secret.Optional {
		optional = " (optional)"
	}
	return v.Name + " from " + v.Secret.Name + "/" + v.Secret.Key + optional
}

func toldService(s Service) []string {
	line := "service " + s.ID()
	if s.Port != 0 {
		line += fmt.Sprint(" on ", s.Port)
	}
	if s.Ingress != nil {
		line += fmt.Sprintf(" under %s of %v", s.Ingress.Path, s.Ingress.Hosts)
	}
	if s.Probe != nil {
		line += fmt.Sprintf(" ready at %s:%d", s.Probe.Path, s.Probe.Port)
	}
	lines := []string{line}
	for _, v := range s.Variables {
		lines = append(lines, s.ID()+" "+toldVariable(v))
	}
	return lines
}

func TestPackages(t *testing.T) {
	orders, carts := use{id: "shop.orders"}, use{id: "default.carts"}
	for _, row := range []struct {
		name, reference, annotation string
		uses                        []use
		want                        []string
	}{
		{
			name: "mongodb", reference: packageMongoDB, annotation: "{.: 'mongodb://a', shop: ['mongodb://b', 'mongodb://c']}",
			uses: []use{carts, orders},
			want: []string{
				"default-carts TOA_MONGODB_DEFAULT_CARTS=mongodb://a",
				"default-carts TOA_MONGODB_DEFAULT_CARTS_USERNAME from toa-mongodb.default/username",
				"default-carts TOA_MONGODB_DEFAULT_CARTS_PASSWORD from toa-mongodb.default/password",
				"shop-orders TOA_MONGODB_SHOP_ORDERS=mongodb://b mongodb://c",
				"shop-orders TOA_MONGODB_SHOP_ORDERS_USERNAME from toa-mongodb-shop/username",
				"shop-orders TOA_MONGODB_SHOP_ORDERS_PASSWORD from toa-mongodb-shop/password",
			},
		},
		{
			name: "sql", reference: "@toa.io/storages.sql", annotation: "pg://a/db", uses: []use{orders},
			want: []string{
				"shop-orders TOA_SQL_SHOP_ORDERS=pg://a/db",
				"shop-orders TOA_SQL_SHOP_ORDERS_USERNAME from toa-sql.default/username",
				"shop-orders TOA_SQL_SHOP_ORDERS_PASSWORD from toa-sql.default/password",
			},
		},
		{
			name: "amqp as text", reference: packageAMQP, annotation: "amqp://a-{0-1}", uses: []use{orders},
			want: []string{
				`global TOA_AMQP_CONTEXT={".":["amqp://a-0","amqp://a-1"]}`,
				"global TOA_AMQP_CONTEXT__USERNAME from toa-amqp-context.default/username",
				"global TOA_AMQP_CONTEXT__PASSWORD from toa-amqp-context.default/password",
			},
		},
		{
			name: "amqp in full", reference: packageAMQP,
			annotation: "{context: {shop.orders: 'amqp://a'}, sources: {depot: 'amqps://d', files: 'amqp://f'}}",
			uses:       []use{{id: "shop.orders", sources: []string{"depot", "depot"}}, carts},
			want: []string{
				`global TOA_AMQP_CONTEXT={"shop.orders":["amqp://a"]}`,
				"global TOA_AMQP_CONTEXT_SHOP_ORDERS_USERNAME from toa-amqp-context-shop-orders/username",
				"global TOA_AMQP_CONTEXT_SHOP_ORDERS_PASSWORD from toa-amqp-context-shop-orders/password",
				"shop-orders TOA_AMQP_SOURCES_DEPOT=amqps://d",
				"shop-orders TOA_AMQP_SOURCES_DEPOT_USERNAME from toa-amqp-sources-depot/username",
				"shop-orders TOA_AMQP_SOURCES_DEPOT_PASSWORD from toa-amqp-sources-depot/password",
			},
		},
		{name: "http without a word", reference: "@toa.io/bindings.http", uses: []use{orders}, want: []string{"global TOA_HTTP={}"}},
		{
			name: "http for all", reference: "@toa.io/bindings.http", annotation: "http://a:80",
			want: []string{`global TOA_HTTP={".":"http://a:80"}`},
		},
		{
			name: "http by selector", reference: "@toa.io/bindings.http", annotation: "{shop: 'http://a', shop.orders: 'https://b'}",
			want: []string{`global TOA_HTTP={"shop":"http://a","shop.orders":"https://b"}`},
		},
		{
			name: "telemetry without a word", reference: "@toa.io/extensions.telemetry",
			want: []string{
				`global TOA_TELEMETRY_READY={"enabled":true,"path":"/.ready","port":8001}`,
				"probe {Path:/.ready Port:8001 Delay:0 Off:false}",
			},
		},
		{
			name: "telemetry", reference: "@toa.io/extensions.telemetry", uses: []use{carts},
			annotation: "{traces: {exporters: {otlp: {endpoint: 'http://o'}}, sample: 1}, metrics: {exporters: {otlp: {endpoint: 'http://m'}}, interval: 5000}, " +
				"logs: {level: info, carts: {level: debug, exporters: {console: ~}}}, ready: {path: /ok}}",
			want: []string{
				`global TOA_TELEMETRY_LOGS={"level":"info"}`,
				`global TOA_TELEMETRY_LOGS_DEFAULT_CARTS={"level":"debug","exporters":{"console":null}}`,
				`global TOA_TELEMETRY_METRICS={"interval":5000,"exporters":{"otlp":{"endpoint":"http://m"}}}`,
				`global TOA_TELEMETRY_TRACES={"sample":1,"exporters":{"otlp":{"endpoint":"http://o"}}}`,
				`global TOA_TELEMETRY_READY={"enabled":true,"path":"/ok","port":8001}`,
				"probe {Path:/ok Port:8001 Delay:0 Off:false}",
			},
		},
		{
			name: "telemetry that is never asked", reference: "@toa.io/extensions.telemetry", annotation: "{ready: false}",
			want: []string{"global TOA_TELEMETRY_READY=false", "probe {Path: Port:0 Delay:0 Off:true}"},
		},
		{
			name: "introspection without a word", reference: packageIntrospection,
			want: []string{
				`global TOA_INTROSPECTION={"interval":300,"threshold":1024,"ui":true,"halt":false,"duration":[30,3600],"quiescence":[30,1800]}`,
				"service introspection-explorer on 8002 under /.introspection of []",
			},
		},
		{
			name: "introspection", reference: packageIntrospection, annotation: "{ui: false, halt: {duration: [1, 2]}, interval: 1}",
			want: []string{
				`global TOA_INTROSPECTION={"interval":1,"threshold":1024,"ui":false,"halt":true,"duration":[1,2],"quiescence":[30,1800]}`,
				"service introspection-explorer",
			},
		},
		{name: "introspection refused", reference: packageIntrospection, annotation: "false"},
		{name: "fetch", reference: "@toa.io/extensions.fetch", uses: []use{orders}},
		{
			name: "exposition", reference: packageExposition,
			annotation: "{authorities: {a: a.dev, b: b.dev}, debug: true, ip: x-real-ip, bouncer: {attempts: 3}, mcp: {name: M, hosts: {a: mcp.dev}}, /: {/x: {GET: shop.orders.find}}}",
			want: []string{
				"service exposition-gateway on 8000 under / of [a.dev b.dev mcp.dev] ready at /.ready:8004",
				`exposition-gateway TOA_EXPOSITION={"routes":[{"path":"/x","node":{"routes":[],"methods":[{"verb":"GET","mapping":` +
					`{"endpoint":"find","component":"orders","namespace":"shop"},"directives":[]}],"directives":[]}}],"methods":[],"directives":[]}`,
				`exposition-gateway TOA_EXPOSITION_PROPERTIES={"authorities":{"a":"a.dev","b":"b.dev"},"debug":true,"ip":"x-real-ip",` +
					`"bouncer":{"attempts":3},"mcp":{"name":"M","hosts":{"a":"mcp.dev"}}}`,
				"exposition-gateway TOA_TELEMETRY_READY=false",
			},
		},
		{
			name: "realtime", reference: packageExposition + "#realtime", annotation: "{streams: ['redis://a', 'redis://b'], expire: 5}",
			want: []string{"global TOA_REALTIME_STREAMS=redis://a redis://b", "global TOA_REALTIME_EXPIRE=5"},
		},
		{
			name: "configuration", reference: packageConfiguration,
			annotation: "{carts: {limit: 1, deep: [{key: $KEY}, $KEY]}, shop.old: {x: $OLD}}",
			uses: []use{
				{id: "default.carts", declaration: "{schema: {type: object}, defaults: {limit: 5, more: 2}}"},
				{id: "shop.old", declaration: "{schema: {}}", evicted: true},
			},
			want: []string{
				"default-carts TOA_CONFIGURATION__KEY from toa-configuration/KEY",
				"service configuration-values on 8003 under /.configuration of []",
				`configuration-values TOA_CONFIGURATION_VALUES={"default.carts":{"epoch":"` + epochOf(t, "{type: object}") +
					`","schema":{"type":"object"},"defaults":{"limit":1,"deep":[{"key":"$KEY"},"$KEY"],"more":2}},` +
					`"shop.old":{"epoch":"` + epochOf(t, "{}") + `","schema":{},"defaults":{"x":"$OLD"}}}`,
				"consumes configuration.values.created",
			},
		},
		{
			name: "stash", reference: "@toa.io/extensions.stash", annotation: "redis://r", uses: []use{orders},
			want: []string{"shop-orders TOA_STASH_SHOP_ORDERS=redis://r"},
		},
		{name: "state", reference: "@toa.io/extensions.state", uses: []use{orders}},
		{
			name: "storages", reference: "@toa.io/extensions.storages",
			annotation: "{a: {provider: s3, bucket: abc}, b: {provider: fs, path: /b, claim: c}, d: {provider: cloudinary, environment: e, type: image}, " +
				"e: {provider: spaces, space: abc, region: r}}",
			uses: []use{{id: "shop.orders", declaration: "[a, b]"}, {id: "default.carts", declaration: "~"}},
			want: []string{
				`global TOA_STORAGES={"a":{"provider":"s3","bucket":"abc"},"b":{"provider":"fs","path":"/b","claim":"c"},` +
					`"d":{"provider":"cloudinary","environment":"e","type":"image"},"e":{"provider":"spaces","space":"abc","region":"r"}}`,
				"global TOA_STORAGES_A_ACCESS_KEY_ID from toa-storages-a/ACCESS_KEY_ID (optional)",
				"global TOA_STORAGES_A_SECRET_ACCESS_KEY from toa-storages-a/SECRET_ACCESS_KEY (optional)",
				"global TOA_STORAGES_D_API_KEY from toa-storages-d/API_KEY",
				"global TOA_STORAGES_D_API_SECRET from toa-storages-d/API_SECRET",
				"global TOA_STORAGES_E_ACCESS_KEY_ID from toa-storages-e/ACCESS_KEY_ID",
				"global TOA_STORAGES_E_SECRET_ACCESS_KEY from toa-storages-e/SECRET_ACCESS_KEY",
				"shop-orders mounts b at /b from c",
				"default-carts installs @aws-sdk/client-s3", "default-carts installs @aws-sdk/lib-storage", "default-carts installs cloudinary",
				"shop-orders installs @aws-sdk/client-s3", "shop-orders installs @aws-sdk/lib-storage",
			},
		},
		{
			name: "cadence without a word", reference: packageCadence,
			want: []string{"service cadence-metronome", "cadence-metronome TOA_CADENCE_DISCRETENESS=60000"},
		},
		{
			name: "cadence", reference: packageCadence, annotation: "{discreteness: 1, regions: [0, 2]}",
			want: []string{
				"global TOA_CADENCE_REGIONS=0 2", "service cadence-metronome",
				"cadence-metronome TOA_CADENCE_DISCRETENESS=1000", "cadence-metronome TOA_CADENCE_REGIONS=0 2",
			},
		},
		{name: "continuity", reference: packageContinuity, want: []string{"service continuity-journal"}},
		{
			name: "convergence", reference: packageConvergence, annotation: "{priority: 1, binding: {pointer: ['amqp://a', 'amqp://b']}}",
			want: []string{
				"global TOA_CONVERGENCE_BROKERS=amqp://a amqp://b",
				"global TOA_CONVERGENCE_BROKERS_USERNAME from toa-convergence-brokers/username",
				"global TOA_CONVERGENCE_BROKERS_PASSWORD from toa-convergence-brokers/password",
				"global TOA_REGION=1", "global TOA_CONVERGENCE_BINDING=@toa.io/bindings.amqp",
			},
		},
		{
			name: "origins", reference: "@toa.io/extensions.origins",
			annotation: "{shop.orders: {web: 'http://w', queue: ['amqp://q'], topic: 'pubsub:///projects/my-p/topics/t', .http: {all: true}}}",
			uses:       []use{{id: "shop.orders", declaration: "{web: ~, queue: ~, topic: ~, own: 'http://own'}"}},
			want: []string{
				"shop-orders TOA_ORIGINS_SHOP_ORDERS_WEB=http://w",
				"shop-orders TOA_ORIGINS_SHOP_ORDERS_QUEUE=amqp://q",
				"shop-orders TOA_ORIGINS_SHOP_ORDERS_QUEUE_USERNAME from toa-origins-shop-orders-queue/username",
				"shop-orders TOA_ORIGINS_SHOP_ORDERS_QUEUE_PASSWORD from toa-origins-shop-orders-queue/password",
				"shop-orders TOA_ORIGINS_SHOP_ORDERS_TOPIC=pubsub:///projects/my-p/topics/t",
				"shop-orders TOA_ORIGINS_PUBSUB__MY_P from toa-origins-pubsub/my-p (optional)",
				"shop-orders TOA_ORIGINS_SHOP_ORDERS_OWN=http://own",
				"shop-orders TOA_ORIGINS_SHOP_ORDERS__PROPERTIES=gaUuaHR0cN4AAaNhbGzD",
			},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, mistakes := asked(t, row.reference, row.annotation, row.uses...)
			if len(mistakes) > 0 {
				t.Fatalf("mistakes: %s", strings.Join(mistakes, "\n"))
			}
			if got := told(d); !slices.Equal(got, row.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(row.want, "\n"))
			}
		})
	}
}

func epochOf(t *testing.T, schema string) string { return epoch(parsed(t, schema)) }

// What is wrong is said with its place, all at once.
func TestMistakes(t *testing.T) {
	orders := use{id: "shop.orders"}
	for _, row := range []struct {
		reference, annotation string
		uses                  []use
		want                  []string
	}{
		{packageMongoDB, "", []use{orders, {id: "shop.carts"}}, []string{"context.toa.yaml: mongodb: expected an address for shop.orders, shop.carts"}},
		{packageMongoDB, "{other: 'mongodb://a'}", []use{orders}, []string{"1:5: mongodb: expected an address for shop.orders"}},
		{packageMongoDB, "'mongodb://user:secret@a'", []use{orders}, []string{"mongodb: expected an address without user and password, found text with a colon before an @, not shown"}},
		{packageMongoDB, "{'a b': 'mongodb://a', .: [nowhere, 'mongodb://{3-1}']}", nil, []string{
			`mongodb."a b": expected a selector`, `mongodb."."[0]: expected an address such as amqp://host, found "nowhere"`,
			`mongodb."."[1]: expected a range that counts upwards`,
		}},
		{packageAMQP, "", []use{orders}, []string{"amqp is missing, expected an address of a broker, for shop.orders uses it"}},
		{packageAMQP, "{contxt: 'amqp://a'}", nil, []string{`unknown key "contxt" in amqp, expected context, sources`, "amqp.context is missing"}},
		{packageAMQP, "amqp://a", []use{{id: "shop.orders", sources: []string{"depot"}}}, []string{"amqp.sources: expected an address for depot (a source of shop.orders)"}},
		{"@toa.io/storages.sql", "", []use{orders}, []string{"sql is missing"}},
		{"@toa.io/storages.sql", "pg://a", []use{orders}, []string{"expected a database in the path"}},
		{"@toa.io/bindings.http", "amqp://a", nil, []string{"http: expected an address of http or https"}},
		{"@toa.io/extensions.telemetry", "{traces: {sample: 2, rate: 0, exporters: {otlp: {}}}, logs: {level: loud, nobody: {level: info}}, ready: true}", []use{orders}, []string{
			"telemetry.traces.sample: expected a number from 0 to 1", "telemetry.traces.rate: expected a number above 0",
			"telemetry.traces.exporters.otlp.endpoint is missing", "telemetry.logs.level: expected trace or",
			"telemetry.logs.nobody: expected a component that uses telemetry", "telemetry.ready: expected false, or a path and a port, found true",
		}},
		{packageIntrospection, "{halt: {duration: [5, 5]}, ui: 1}", nil, []string{"introspection.halt.duration: expected the smaller number first", "introspection.ui: expected true or false"}},
		{packageExposition, "", []use{orders}, []string{"exposition is missing, expected the hosts"}},
		{packageExposition, "{authorites: {a: b}}", nil, []string{`unknown key "authorites" in exposition`, "exposition.authorities is missing"}},
		{packageExposition, "{authorities: {a: b}, bouncer: {}, mcp: {name: x, hosts: {c: d}}}", nil, []string{"exposition.bouncer: expected", `exposition.mcp.hosts: expected an authority, found "c"`}},
		{packageExposition, "{authorities: {a: b}, /: {GTE: x, /a: {GET: [1], anonymus: true}}}", nil, []string{
			`exposition./.GTE: expected a route such as /path, a method or a directive, found "GTE"`, "exposition././a.GET: expected an operation",
			`found "anonymus"`,
		}},
		{packageExposition + "#realtime", "{streams: 'redis://{a}'}", nil, []string{"realtime.streams: expected an address"}},
		{packageExposition + "#realtime", "", nil, []string{"realtime is missing"}},
		{packageExposition + "#realtime", "{expire: 0, routes: 1}", nil, []string{"realtime.expire: expected", `unknown key "routes"`, "realtime.streams is missing"}},
		{packageConfiguration, "{cats: {a: 1}}", []use{{id: "default.carts", declaration: "{schema: {}}"}}, []string{`configuration.cats: expected a component that uses configuration, found "cats"`}},
		{packageConfiguration, "{carts: {key: plain, all: [{key: x}]}}", []use{{
			id:          "default.carts",
			declaration: "{schema: {properties: {key: {format: secret}, all: {items: {additionalProperties: {format: secret}}}}}}",
		}}, []string{"configuration.carts.key: expected a reference to a secret such as $NAME", "configuration.carts.all.key: expected a reference"}},
		{packageConfiguration, "{carts: {}, default.carts: {}}", []use{{id: "default.carts"}}, []string{"expected every component once"}},
		{"@toa.io/extensions.storages", "{a: {provider: s4}, B: {provider: tmp, directory: d}, c: {provider: fs, pth: x}}", []use{{id: "shop.orders", declaration: "[z]"}}, []string{
			"storages.a.provider: expected cloudinary or", "storages.B: expected a name of small letters", `unknown key "pth" in storages.c`, "storages.c.path is missing",
			`shop.orders/manifest.toa.yaml:1:1: component shop.orders: expected a storage that the context has, found "z"`,
		}},
		{packageCadence, "{regions: [-1], discretness: 1}", nil, []string{"cadence.regions[0]: expected", `unknown key "discretness"`}},
		{packageContinuity, "{a: 1}", nil, []string{`unknown key "a" in continuity`}},
		{packageConvergence, "{binding: {provider: kafka}}", nil, []string{"convergence.binding.provider: expected amqp", "convergence.binding.pointer is missing", "convergence.priority is missing"}},
		{"@toa.io/extensions.origins", "{shop.orders: {a: ['http://a', 'amqp://b'], 'b c': 'http://a', d: 'ftp://x'}}", []use{{id: "shop.orders", declaration: "{z: ~}"}}, []string{
			"origins.shop.orders.a: expected addresses of one protocol", "expected a name of letters and digits", ".d: expected addresses of one protocol",
			`expected an address for the origin "z"`,
		}},
	} {
		t.Run(row.reference+" "+row.annotation, func(t *testing.T) {
			_, mistakes := asked(t, row.reference, row.annotation, row.uses...)
			all := strings.ReplaceAll(strings.Join(mistakes, "\n"), `"shop.orders"`, "shop.orders")
			for _, want := range row.want {
				if !strings.Contains(all, want) {
					t.Errorf("want %q among\n%s", want, all)
				}
			}
			if len(mistakes) != len(row.want) {
				t.Errorf("want %d mistakes, got\n%s", len(row.want), all)
			}
			if strings.Contains(all, "secret@") {
				t.Error("a password is shown")
			}
		})
	}
}
