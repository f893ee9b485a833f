package ports

import (
	"net/http"

	"github.com/google/uuid"
	"go.uber.org/fx"

	"github.com/tidings-go/tidings/sampleapp/app"
	"github.com/tidings-go/tidings/sampleapp/domain"
	"github.com/tidings-go/tidings/usecase"
)

// Handlers are the usecases that the API reaches.
type Handlers struct {
	fx.In

	Plan     usecase.Usecase[app.PlanTour, app.Planned]
	Move     usecase.Usecase[app.MoveStop, app.Moved]
	Swap     usecase.Usecase[app.SwapStops, app.Swapped]
	Complete usecase.Usecase[app.CompleteStop, app.Completed]
	Close    usecase.Action[app.CloseDay]
	Board    usecase.Usecase[app.ShowBoard, []app.BoardRow]
}

func (h Handlers) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /tours", answer(h.plan))
	mux.HandleFunc("POST /stops/{id}/move", answer(h.move))
	mux.HandleFunc("POST /stops/{id}/swap", answer(h.swap))
	mux.HandleFunc("POST /stops/{id}/complete", answer(h.complete))
	mux.HandleFunc("POST /days/{day}/close", answer(h.closeDay))
	mux.HandleFunc("GET /board", answer(h.board))
	return mux
}

func (h Handlers) plan(r *http.Request) (int, any, error) {
	var body tour
	if err := read(r, &body); err != nil {
		return 0, nil, err
	}
	in, err := body.input()
	if err != nil {
		return 0, nil, err
	}
	planned, err := h.Plan.Execute(r.Context(), in)
	return http.StatusCreated, planned, err
}

func (h Handlers) move(r *http.Request) (int, any, error) {
	stop, err := stopOf(r)
	if err != nil {
		return 0, nil, err
	}
	var body move
	if err := read(r, &body); err != nil {
		return 0, nil, err
	}
	to, err := body.domain()
	if err != nil {
		return 0, nil, err
	}
	note, err := domain.NewNote(body.Note)
	if err != nil {
		return 0, nil, err
	}
	moved, err := h.Move.Execute(r.Context(), app.MoveStop{Stop: stop, To: to, Note: note})
	return http.StatusOK, fee{moved.Fee.Cents()}, err
}

func (h Handlers) swap(r *http.Request) (int, any, error) {
	stop, err := stopOf(r)
	if err != nil {
		return 0, nil, err
	}
	var body swap
	if err := read(r, &body); err != nil {
		return 0, nil, err
	}
	swapped, err := h.Swap.Execute(r.Context(), app.SwapStops{A: stop, B: body.With})
	return http.StatusOK, fee{swapped.Fee.Cents()}, err
}

func (h Handlers) complete(r *http.Request) (int, any, error) {
	stop, err := stopOf(r)
	if err != nil {
		return 0, nil, err
	}
	completed, err := h.Complete.Execute(r.Context(), app.CompleteStop{Stop: stop})
	return http.StatusOK, price{completed.Price.Cents()}, err
}

func (h Handlers) closeDay(r *http.Request) (int, any, error) {
	day, err := domain.NewDay(r.PathValue("day"))
	if err != nil {
		return 0, nil, err
	}
	return http.StatusNoContent, nil, h.Close.Execute(r.Context(), app.CloseDay{Day: day})
}

func (h Handlers) board(r *http.Request) (int, any, error) {
	var in app.ShowBoard
	if text := r.URL.Query().Get("day"); text != "" {
		day, err := domain.NewDay(text)
		if err != nil {
			return 0, nil, err
		}
		in.Day = day
	}
	rows, err := h.Board.Execute(r.Context(), in)
	return http.StatusOK, rows, err
}

// stopOf returns the stop that the path names. One that is no id names nothing.
func stopOf(r *http.Request) (uuid.UUID, error) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return uuid.Nil, domain.NotFound("stop " + r.PathValue("id"))
	}
	return id, nil
}
