// Package ports is the way in: the HTTP API of the delivery company. Its handlers
// turn requests into inputs of usecases and outcomes into JSON; what a request
// may do is decided by the usecases and the domain.
//
//	POST /tours               plan a tour                → 201 {"tour", "stops"}
//	POST /stops/{id}/move     move a stop                → 200 {"fee_cents"}
//	POST /stops/{id}/complete hand the parcel over       → 200 {"price_cents"}
//	POST /stops/{id}/swap     change places with another → 200 {"fee_cents"}
//	POST /days/{day}/close    close a day                → 204
//	GET  /board?day=          the board                  → 200 [{"tour", "day", …}]
//
// Errors are {"error": "…"}: 400 for a body that is no such JSON, 422 for what
// breaks a rule, 404 for what does not exist, 409 for what comes too late.
package ports
