// Package ext stands in for a module of Traefik that the module proxy does not have: its two types are empty there, too.
package ext

// HTTP has no fields.
type HTTP struct{}

// Router has no fields.
type Router struct{}
