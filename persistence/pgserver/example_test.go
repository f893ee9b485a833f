package pgserver_test

import (
	"context"
	"database/sql"
	"fmt"

	_ "github.com/lib/pq"

	"github.com/tidings-go/tidings/persistence/pgserver"
)

func Example() {
	ctx := context.Background()
	server, err := pgserver.Start(ctx, pgserver.Config{TempDir: pgserver.MemoryDir()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Stop(ctx) }()
	db, err := sql.Open("postgres", server.URL("postgres"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = db.Close() }()
	var user string
	if err := db.QueryRowContext(ctx, `SELECT current_user`).Scan(&user); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(user)
	// Output: postgres
}
