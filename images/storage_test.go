package images_test

import (
	"context"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/storage/driver"
	"github.com/distribution/distribution/v3/registry/storage/driver/factory"
)

// given is the storage of a registry that gets the driver as its parameter: two
// registries can have the same one.
type given struct{}

func init() { factory.Register("given", given{}) }

func (given) Create(_ context.Context, parameters map[string]any) (driver.StorageDriver, error) {
	return parameters["driver"].(driver.StorageDriver), nil
}

// keptIn makes a registry keep all in a driver.
func keptIn(d driver.StorageDriver) func(*configuration.Configuration) {
	return func(c *configuration.Configuration) {
		delete(c.Storage, "inmemory")
		c.Storage["given"] = configuration.Parameters{"driver": d}
	}
}
