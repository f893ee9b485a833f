package delivery

import (
	"context"
	"fmt"

	"github.com/tidings-go/tidings/persistence"
	"github.com/tidings-go/tidings/persistence/schema"
)

// QueueAges returns, for each stored listener by its identity, the age in
// seconds of its oldest due job: how long the job has been due without being
// claimed; 0 when none is. It reads the database alone, so every node and a
// process without workers gives the same answer.
func QueueAges(ctx context.Context, db *persistence.Database, framework string) (map[string]float64, error) {
	ages := map[string]float64{}
	err := db.Required(ctx, persistence.TxOptions{ReadOnly: true}, func(ctx context.Context, t *persistence.Transaction) error {
		rows, err := db.Statement(fmt.Sprintf(agesSQL, schema.Quote(framework))).Query(ctx, t)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var listener string
			var age float64
			if err := rows.Scan(&listener, &age); err != nil {
				return err
			}
			ages[listener] = age
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read queue ages: %w", err)
	}
	return ages, nil
}
