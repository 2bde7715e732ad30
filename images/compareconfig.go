package images

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"toa.io/toa/orchestrator"
)

// compareConfigs names the fields of two configs that differ. Their values may
// be anybody's secrets and are not told. What follows from layers is left out.
func compareConfigs(ctx context.Context, a, b child) ([]orchestrator.Difference, error) {
	if a.config.Digest == b.config.Digest {
		return nil, nil
	}
	published, err := configFields(ctx, a)
	if err != nil {
		return nil, err
	}
	made, err := configFields(ctx, b)
	if err != nil {
		return nil, err
	}
	names := maps.Clone(published)
	maps.Copy(names, made)
	var all []orchestrator.Difference
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, before := published[name]
		is, now := made[name]
		if before == now && was == is {
			continue
		}
		what := "value"
		switch {
		case !before:
			what = onlyRebuilt
		case !now:
			what = onlyPublished
		}
		all = append(all, orchestrator.Difference{Path: name, What: what})
	}
	return all, nil
}

// configFields are the fields of a config by name: "config.Env[PATH]".
func configFields(ctx context.Context, c child) (map[string]string, error) {
	body, err := c.config.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	var top map[string]any
	if err := json.Unmarshal(raw, &top); err != nil {
		return nil, fmt.Errorf("read config: %w", err)
	}
	delete(top, "rootfs")
	fields := map[string]string{}
	flatten(fields, "", top)
	return fields, nil
}

// flatten writes down the leaves of a JSON value.
func flatten(into map[string]string, name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for key, one := range v {
			flatten(into, strings.TrimPrefix(name+"."+key, "."), one)
		}
	case []any:
		for i, one := range v {
			flatten(into, name+"["+element(name, i, one)+"]", one)
		}
	default:
		into[name] = fmt.Sprintf("%T %v", v, v)
	}
}

// element names one of a list: a variable by its name, anything else by its place.
func element(list string, at int, value any) string {
	if text, ok := value.(string); ok && strings.HasSuffix(list, ".Env") {
		variable, _, _ := strings.Cut(text, "=")
		return variable
	}
	return strconv.Itoa(at)
}
