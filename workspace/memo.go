package workspace

import (
	"maps"
	"slices"
)

// Schemas of memos. A memo of a file is only made when nothing is wrong with
// it, so a rule that refuses what was accepted before needs a new version here,
// as does every new field.
const (
	contextSchema  = "toa/memo/context/v6"
	manifestSchema = "toa/memo/manifest/v5"
	packageSchema  = "toa/memo/package/v5"
	lockSchema     = "toa/memo/lock/v1"
	// prototypeSchema is of a manifest whose component nobody sees.
	prototypeSchema = "toa/memo/prototype/v3"
)

func (f *contextFile) visit(c *codec) {
	x := &f.context
	for _, text := range []*string{
		&x.Name, &x.Version, &x.Description,
		&x.Runtime.Version, &x.Runtime.Registry, &x.Runtime.Proxy,
		&x.Registry.Base, &x.Registry.Credentials, &x.Registry.Services,
		&x.Release.Namespace, &x.Release.Context, &x.Release.Registry,
		&x.Builder.Kind, &x.Builder.Address, &x.Builder.Cache,
		&f.packages,
	} {
		c.text(text)
	}
	c.texts(&x.Registry.Platforms)
	c.texts(&x.Registry.Insecure)
	x.Registry.Build.visit(c)
	c.flag(&x.Release.Wait)
	c.flag(&x.Release.Atomic)
	c.duration(&x.Release.Timeout)
	c.integer(&x.Release.History)
	c.text(&x.Cache.Shared)
	c.text(&x.Cache.Write)
	items(c, &x.Annotations, func(c *codec, a *Annotation) { a.visit(c) })
	x.visitDelivery(c)
	items(c, &f.compositions, func(c *codec, d *declared) { d.visit(c) })
	items(c, &f.evicted, func(c *codec, m *member) { m.visit(c) })
	items(c, &f.mentions, func(c *codec, m *mention) { m.visit(c) })
}

func (x *Context) visitDelivery(c *codec) {
	optional(c, &x.Resources, visitResources)
	c.integer(&x.Mono.Replicas)
	optional(c, &x.Mono.Resources, visitResources)
	optional(c, &x.Ingress, func(c *codec, i *Ingress) { i.visit(c) })
	c.texts(&x.Evicted.Components)
	c.texts(&x.Evicted.Services)
	optional(c, &x.Atomicity, func(c *codec, a *Atomicity) {
		c.texts(&a.Redis)
		optional(c, &a.Interval, (*codec).integer)
	})
	for _, n := range []**int{
		&x.Outbox.Interval, &x.Outbox.Batch, &x.Outbox.Retention, &x.Inbox.Retention, &x.Addressed.Timeout,
	} {
		optional(c, n, (*codec).integer)
	}
	c.texts(&x.Events)
}

func (i *Ingress) visit(c *codec) {
	c.texts(&i.Hosts)
	c.text(&i.Class)
	optional(c, &i.Default, (*codec).flag)
	names := slices.Sorted(maps.Keys(i.Annotations))
	c.texts(&names)
	if c.reading && len(names) > 0 {
		i.Annotations = make(map[string]string, len(names))
	}
	for _, name := range names {
		value := i.Annotations[name]
		c.text(&value)
		i.Annotations[name] = value
	}
}

func visitResources(c *codec, r *Resources) {
	c.flag(&r.None)
	optional(c, &r.CPU, visitPair)
	optional(c, &r.Memory, visitPair)
}

func visitPair(c *codec, pair *[2]string) {
	c.text(&pair[0])
	c.text(&pair[1])
}

func (a *Annotation) visit(c *codec) {
	c.text(&a.Package)
	c.value(&a.Value)
	c.position(&a.Position)
	a.Position.File = ContextFile
}

func (m *member) visit(c *codec) {
	c.text(&m.id)
	c.place(&m.at)
}

func (d *declared) visit(c *codec) {
	c.text(&d.name)
	c.place(&d.at)
	items(c, &d.members, func(c *codec, m *member) { m.visit(c) })
	c.text(&d.image)
	c.integer(&d.replicas)
	c.texts(&d.services)
	optional(c, &d.resources, visitResources)
}

func (m *mention) visit(c *codec) {
	c.text(&m.text)
	c.place(&m.at)
}

func (b *Build) visit(c *codec) {
	c.text(&b.Image)
	c.texts(&b.Run)
	c.texts(&b.Arguments)
	c.flag(&b.Plain)
	c.text(&b.Scripts)
}

// visit covers what comes from the manifest; Dir and Position.File are known
// from where it stands.
func (f *manifestFile) visit(c *codec) {
	x := &f.component
	c.text(&x.Namespace)
	c.text(&x.Name)
	c.text(&x.ID)
	c.text(&x.Label)
	c.text(&x.Version)
	c.texts(&x.Files)
	c.texts(&x.Ignore)
	x.Build.visit(c)
	c.flag(&x.HasEntity)
	for _, text := range []*string{&x.Storage, &x.Bridge, &x.Prototype} {
		c.text(text)
	}
	for _, list := range []*[]string{&x.Bindings, &x.Uses, &x.Operations, &x.Events, &x.Guards} {
		c.texts(list)
	}
	items(c, &x.Receivers, func(c *codec, one *Receiver) {
		c.text(&one.Event)
		c.text(&one.Source)
	})
	items(c, &x.Extensions, func(c *codec, one *Declaration) {
		c.text(&one.Package)
		c.text((*string)(&one.Value))
		c.position(&one.Position)
	})
	c.json(&x.Contract)
	c.position(&x.Position)
	c.place(&f.prototypeAt)
	c.flag(&f.storageStated)
	items(c, &f.mentions, func(c *codec, m *mention) { m.visit(c) })
}

func (p *packageFile) visit(c *codec) {
	c.flag(&p.absent)
	c.text(&p.module)
	c.flag(&p.dependencies)
	c.text(&p.name)
	c.text(&p.version)
	c.texts(&p.members)
	items(c, &p.near, func(c *codec, d *dependency) {
		c.text(&d.name)
		c.text(&d.spec)
		c.place(&d.at)
	})
	c.text(&p.manager.name)
	c.place(&p.manager.at)
}
