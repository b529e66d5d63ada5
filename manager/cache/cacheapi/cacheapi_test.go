package cacheapi_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/loopwright/loopwright/manager/cache"
	"github.com/loopwright/loopwright/manager/cache/cacheapi"
)

// A program that does not want to wait must not be made to, whichever package it imports.
func TestAnOptionOfThisPackageIsThatOfTheCache(t *testing.T) {
	for _, waits := range []bool{true, false} {
		var asked cache.InformerGetOptions
		var option cache.InformerGetOption = cacheapi.BlockUntilSynced(waits)
		option(&asked)
		require.Equal(t, waits, *asked.BlockUntilSynced)
	}
}
