// Package extra is only here.
package extra
